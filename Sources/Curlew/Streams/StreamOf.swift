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
