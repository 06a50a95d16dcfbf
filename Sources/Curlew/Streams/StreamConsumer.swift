internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// A handler of a streamed body, its types erased.
struct StreamConsumer: Sendable {
    /// Serializes the chunk, and answers what is to be called on the handler's queue.
    let prepare: @Sendable (Data) -> @Sendable () -> Void
    let delivery: Delivery
    /// Where it puts chunks until they are read; nil for one that has done with a chunk when it returns.
    var backlog: StreamBacklog?
}

/// Hands a body's chunks to handlers, each on its own queue. The next chunk comes when all have taken this one: a
/// slow handler stops the sender.
struct StreamPump: Sendable {
    let channel: BodyChannel
    /// Those that there are by now.
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

    /// Calls back when so many have reported. No `OneShot`: it counts, and its waiter is never cancelled.
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
