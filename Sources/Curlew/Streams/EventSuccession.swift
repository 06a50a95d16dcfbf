internal import CurlewCore
internal import CurlewLocks

/// The later requests of a reconnecting event stream, as seen from its first request. The user holds only the first
/// one, so cancelling it must cancel its current successor.
final class EventSuccession: Sendable {
    /// Resolved with the first request's cancellation. After that no connection is opened.
    let cancelled = OneShot<CurlewError>()
    private let current = Lock<DataStreamRequest?>(nil)

    /// Continues the stream with `next`. If the first request has already been cancelled, `next` is cancelled too.
    func goesOn(with next: DataStreamRequest) {
        // The previous request is released outside the lock.
        _ = current.withLock { exchange(&$0, with: next) }
        if let error = cancelled.value { next.cancel(with: error) }
    }

    func cancel(with error: CurlewError) {
        cancelled.resolve(error)
        current.withLock { $0 }?.cancel(with: error)
    }
}
