internal import CurlewCore
internal import CurlewLocks

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

    /// Hands out one element after the other.
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

/// A stream of values about a request. It ends with the request.
protocol RequestStream: Sendable {
    /// Whether the stream yields elements made from values of this type.
    func wants(_ type: any Any.Type) -> Bool
    func send(_ value: any Sendable)
    func finish()
}

/// Receives the values of one type and yields the elements made from them.
struct MappedRequestStream<Sent: Sendable, Element: Sendable>: RequestStream {
    let continuation: AsyncStream<Element>.Continuation
    let transform: @Sendable (Sent) -> Element?

    func wants(_ type: any Any.Type) -> Bool { type == Sent.self }

    func send(_ value: any Sendable) {
        if let value = value as? Sent, let element = transform(value) { continuation.yield(element) }
    }

    func finish() { continuation.finish() }
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
