/// The two handles of a stream or a WebSocket whose run no task waits for.
///
/// `head()`, `opened()` and `send(_:)` return while the run goes on. If the run held the handle that the user has, that handle
/// would never be released, and the connection of a dropped request would stay open. So the run has a handle of its own. Both
/// share everything that changes. When the user's handle is released, nothing can read any more, and its `deinit` ends the run:
/// sequences, iterators, waiting methods and handlers hold the user's handle.
struct RequestHandles<Handle: Request> {
    /// `nil` once it is released.
    weak var users: Handle?
    /// `nil` unless the run has one.
    weak var ofRun: Handle?
}
