internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// The task of a stream that is read as a sequence. The first `next()` or `head()` starts it; leaving the iteration, or
/// the end of its task, cancels the request.
enum StreamRun {
    /// Starts the run, unless an earlier call has. `reads` is false if the caller wants only the head.
    static func start(_ request: DataStreamRequest, reads: Bool) {
        let isFirst = request.reading.withLock { reading in
            defer { reading.hasSequence = true }
            if reads { reading.hasReader = true }
            return !reading.hasSequence
        }
        guard isFirst else { return }
        let awaiting = request.beginAwaiting()
        // A call that only wants the head must not keep the user's handle alive: releasing the handle ends a run whose
        // body is not read.
        let run = reads ? request : request.handleOfRun()
        if !reads, case .drive = awaiting.action { request.reading.withLock { $0.unreadRun = .forHeads } }
        Task { _ = await run.outcome(of: awaiting, checksStatus: true) }
    }
}

/// A handler of events that arrive over time, with its types erased.
struct StreamHandler<Event: Sendable>: Sendable {
    /// Makes the work for the handler's queue; `nil` if the event does not concern the handler.
    let prepare: @Sendable (Event) -> (@Sendable () -> Void)?
    let delivery: Delivery
    /// Counts the unread events of a handler that puts them into a sequence; `nil` for a handler that is done with an
    /// event when it returns.
    var backlog: StreamBacklog?

    /// Delivers an event of `size` bytes to handlers, each on its own queue. Returns when all are done with it and have
    /// room for another: a slow handler thereby pauses the sender.
    static func deliver(_ event: Event, size: Int, to handlers: [Self]) async {
        await withCheckedContinuation { continuation in
            let countdown = Countdown(handlers.count) { continuation.resume() }
            for handler in handlers {
                guard let work = handler.prepare(event) else {
                    countdown.step()
                    continue
                }
                handler.backlog?.add(size)
                handler.delivery {
                    work()
                    guard let backlog = handler.backlog else { return countdown.step() }
                    backlog.whenThereIsRoom { countdown.step() }
                }
            }
        }
    }
}

/// A handler of a streamed body. Its `prepare` serializes the chunk.
typealias StreamConsumer = StreamHandler<Data>

/// Delivers a body's chunks to handlers.
struct StreamPump: Sendable {
    let channel: BodyChannel
    /// The handlers that have been added so far.
    let consumers: @Sendable () -> [StreamConsumer]

    func run() async {
        while let pieces = try? await channel.take() {
            for piece in pieces { await StreamConsumer.deliver(piece, size: piece.count, to: consumers()) }
        }
    }
}

/// Calls back after `count` steps. Not a `OneShot`: it counts, and its waiter is never cancelled.
private final class Countdown: Sendable {
    private let missing: Lock<Int>
    private let done: @Sendable () -> Void

    init(_ count: Int, done: @escaping @Sendable () -> Void) {
        missing = Lock(count)
        self.done = done
        if count == 0 { done() }
    }

    func step() {
        let isLast = missing.withLock { missing in
            missing -= 1
            return missing == 0
        }
        if isLast { done() }
    }
}
