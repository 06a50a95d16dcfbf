internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// The task of a stream that is read as a sequence: one of the places that start unstructured tasks. The first `next()`
/// or `head()` starts it; leaving the iteration, or the end of its task, cancels the request.
enum StreamRun {
    /// Starts the run, unless an earlier call has. `reads` is false if the caller wants only the head.
    static func start(_ request: DataStreamRequest, reads: Bool) {
        let isFirst = request.reading.withLock { reading in
            defer { reading.hasSequence = true }
            if reads { reading.hasReader = true }
            return !reading.hasSequence
        }
        guard isFirst else { return }
        let awaiting = request.awaited()
        var run = request
        if !reads, case .drive = awaiting.action {
            request.reading.withLock { $0.isDrivenForHeads = true }
            // The run must not keep the user's handle alive: releasing the handle ends a run whose body is not read.
            run = request.handleOfRun()
        }
        Task { [run] in _ = await run.outcome(of: awaiting, checksStatus: true) }
    }
}

/// A handler of a streamed body with its types erased.
struct StreamConsumer: Sendable {
    /// Serializes the chunk and returns the work for the handler's queue.
    let prepare: @Sendable (Data) -> @Sendable () -> Void
    let delivery: Delivery
    /// Counts the unread chunks of a handler that puts them into a sequence; `nil` for a handler that is done with a
    /// chunk when it returns.
    var backlog: StreamBacklog?
}

/// Delivers a body's chunks to handlers, each on its own queue. The next chunk follows when all handlers are done with
/// this one: a slow handler pauses the sender.
struct StreamPump: Sendable {
    let channel: BodyChannel
    /// The handlers that have been added so far.
    let consumers: @Sendable () -> [StreamConsumer]

    func run() async {
        while let pieces = try? await channel.take() {
            for piece in pieces { await handOn(piece) }
        }
    }

    private func handOn(_ chunk: Data) async {
        let consumers = consumers()
        await withCheckedContinuation { continuation in
            let countdown = Countdown(consumers.count) { continuation.resume() }
            for consumer in consumers {
                let work = consumer.prepare(chunk)
                consumer.backlog?.add(chunk.count)
                consumer.delivery {
                    work()
                    guard let backlog = consumer.backlog else { return countdown.step() }
                    backlog.whenThereIsRoom { countdown.step() }
                }
            }
        }
    }

    /// Calls back after `count` steps. Not a `OneShot`: it counts, and its waiter is never cancelled.
    final class Countdown: Sendable {
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
}
