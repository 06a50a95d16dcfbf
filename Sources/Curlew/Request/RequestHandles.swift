/// The two handles of a stream or a WebSocket whose run no task waits for.
///
/// `head()`, `opened()` and `send(_:)` return while the run continues. If the run held the user's handle, that handle
/// would never be released, and the connection of a dropped request would stay open. So the run has another handle,
/// which shares all mutable state. Sequences, iterators, waiting methods and handlers hold the user's handle. When it
/// is released, no reader is left, and its `deinit` ends the run.
struct RequestHandles<Handle: Request> {
    /// `nil` once it has been released.
    weak var users: Handle?
    /// `nil` unless the run has one.
    weak var ofRun: Handle?
}
