internal import CurlewCore
internal import CurlewLocks
internal import Foundation

// Values that are pushed to handlers. A handler that fills a sequence has room only while its reader keeps up:
//
//     StreamPump ─▶ StreamHandler.deliver ─┬▶ a closure
//                         ▲                └▶ StreamOf ─▶ its reader
//                         └──── whenThereIsRoom ── StreamBacklog ◀┘

/// Values that arrive over time. Only one task may iterate over them, and only once.
///
/// Ending the iteration, by `break` or by cancellation, stops the producer.
public struct StreamOf<Element: Sendable>: AsyncSequence, Sendable {
    /// The treatment of values that have not been read.
    public typealias BufferingPolicy = AsyncStream<Element>.Continuation.BufferingPolicy
    package typealias Continuation = AsyncStream<Element>.Continuation

    private let stream: AsyncStream<Element>
    private let continuation: Continuation
    private let onTermination: @Sendable () -> Void
    private let reader: StreamBacklog.Reader?

    /// With a `backlog`, the producer learns how much has been read and no value may be dropped.
    package init(
        bufferingPolicy: BufferingPolicy,
        backlog: StreamBacklog? = nil,
        onTermination: @escaping @Sendable () -> Void = {},
        builder: (Continuation) -> Void
    ) {
        (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: bufferingPolicy)
        self.onTermination = onTermination
        reader = backlog.map(StreamBacklog.Reader.init)
        builder(continuation)
    }

    public func makeAsyncIterator() -> Iterator {
        Iterator(
            base: stream.makeAsyncIterator(),
            reader: reader,
            end: Iterator.End(continuation: continuation, backlog: reader?.backlog, onTermination: onTermination)
        )
    }

    /// The iterator of elements.
    public struct Iterator: AsyncIteratorProtocol {

        fileprivate var base: AsyncStream<Element>.Iterator
        fileprivate let reader: StreamBacklog.Reader?
        fileprivate let end: End

        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            let element = await base.next(isolation: actor)
            if element != nil { reader?.backlog.taken() }
            return element
        }

        /// Stops the producer when the iterator is released, however the loop ended.
        fileprivate final class End: Sendable {
            let continuation: Continuation
            let backlog: StreamBacklog?
            let onTermination: @Sendable () -> Void

            init(
                continuation: Continuation,
                backlog: StreamBacklog?,
                onTermination: @escaping @Sendable () -> Void
            ) {
                self.continuation = continuation
                self.backlog = backlog
                self.onTermination = onTermination
            }

            deinit {
                onTermination()
                continuation.finish()
                backlog?.leave()
            }
        }
    }
}

/// Counts the unread bytes of a sequence. While they exceed the limit, no chunk is read from the network: a slow reader
/// pauses the sender.
package final class StreamBacklog: Sendable {
    private struct State: Sendable {
        /// The costs of the unread chunks, oldest first, beginning at `next`.
        var costs: [Int] = []
        var next = 0
        var cost = 0
        var isLeft = false
        var waiter: (@Sendable () -> Void)?

        mutating func waiterIfThereIsRoom(below limit: Int) -> (@Sendable () -> Void)? {
            guard isLeft || cost < limit else { return nil }
            defer { waiter = nil }
            return waiter
        }
    }

    private let state = Lock(State())
    private let limit: Int

    /// `limit` is the number of unread bytes a sequence may hold.
    package init(limit: Int = 512 * 1024) { self.limit = limit }

    /// Counts a chunk of `bytes`. Call it before the chunk is put into the sequence.
    func add(_ bytes: Int) {
        state.withLock { state in
            guard !state.isLeft else { return }
            // A value costs more memory than its bytes: a server that sends single bytes must reach the limit too.
            state.costs.append(bytes + 64)
            state.cost += bytes + 64
        }
    }

    /// Calls `proceed` once there is room for another chunk, perhaps at once. Only one caller may wait at a time.
    func whenThereIsRoom(_ proceed: @escaping @Sendable () -> Void) {
        let ready = state.withLock { state in
            state.waiter = proceed
            return state.waiterIfThereIsRoom(below: limit)
        }
        ready?()
    }

    /// Counts the oldest value as read.
    package func taken() {
        let ready = state.withLock { state -> (@Sendable () -> Void)? in
            // The completion follows all chunks and has no cost.
            guard state.next < state.costs.count else { return nil }
            state.cost -= state.costs[state.next]
            state.next += 1
            // A reader that never catches up must not keep the entries of all chunks that it has read.
            if state.next == state.costs.count || state.next > 1000 {
                state.costs.removeFirst(state.next)
                state.next = 0
            }
            return state.waiterIfThereIsRoom(below: limit)
        }
        ready?()
    }

    /// Ends reading: later chunks are dropped, and there is always room.
    package func leave() {
        let ready = state.withLock { state in
            state.isLeft = true
            state.costs = []
            state.next = 0
            return state.waiterIfThereIsRoom(below: limit)
        }
        ready?()
    }

    /// Ends reading when the last copy of a sequence and its iterators is released.
    fileprivate final class Reader: Sendable {
        let backlog: StreamBacklog

        init(_ backlog: StreamBacklog) { self.backlog = backlog }

        deinit { backlog.leave() }
    }
}

// MARK: Handlers

/// A handler of events that arrive over time, with its types erased.
struct StreamHandler<Event: Sendable>: Sendable {
    /// Makes the work for the handler's queue; `nil` if the event does not concern the handler.
    let prepare: @Sendable (Event) -> (@Sendable () -> Void)?
    let delivery: CallbackDelivery
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

/// Reads a body for handlers, and delivers its chunks to them.
struct StreamPump: Sendable {
    let channel: BodyChannel
    /// The handlers that have been added so far.
    let handlers: @Sendable () -> [StreamHandler<Data>]

    func run() async {
        while let pieces = try? await channel.take() {
            for piece in pieces { await StreamHandler.deliver(piece, size: piece.count, to: handlers()) }
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
