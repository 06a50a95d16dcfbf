internal import CurlewCore
internal import CurlewLocks

/// The requests that follow the first one of an event stream that reconnects, as far as that one has to know of them: its user
/// has no other to cancel.
final class EventSuccession: Sendable {
    /// Why the first one was cancelled: nothing is opened any more.
    let cancelled = OneShot<CurlewError>()
    private let current = Lock<DataStreamRequest?>(nil)

    /// The stream goes on with `next`, which is cancelled where the first one is, also where that came before.
    func goesOn(with next: DataStreamRequest) {
        // Requests are not released under a lock.
        _ = current.withLock { exchange(&$0, with: next) }
        if let error = cancelled.value { next.cancel(with: error) }
    }

    func cancel(with error: CurlewError) {
        cancelled.resolve(error)
        current.withLock { $0 }?.cancel(with: error)
    }
}
