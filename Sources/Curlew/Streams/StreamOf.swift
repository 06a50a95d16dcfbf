/// Values that arrive over time. One task may iterate over it, once.
///
/// The end of the iteration, by `break` or by cancellation, tells the producer.
public struct StreamOf<Element: Sendable>: AsyncSequence, Sendable {
    /// What happens to values that nobody has taken yet.
    public typealias BufferingPolicy = AsyncStream<Element>.Continuation.BufferingPolicy
    public typealias Failure = Never

    typealias Continuation = AsyncStream<Element>.Continuation

    private let stream: AsyncStream<Element>
    private let continuation: Continuation
    private let onTermination: @Sendable () -> Void

    init(
        bufferingPolicy: BufferingPolicy = .unbounded,
        onTermination: @escaping @Sendable () -> Void = {},
        builder: (Continuation) -> Void
    ) {
        (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: bufferingPolicy)
        self.onTermination = onTermination
        builder(continuation)
    }

    public func makeAsyncIterator() -> Iterator {
        Iterator(
            base: stream.makeAsyncIterator(),
            end: Iterator.End(continuation: continuation, onTermination: onTermination)
        )
    }

    /// Hands out one element after the other.
    public struct Iterator: AsyncIteratorProtocol {
        public typealias Failure = Never

        fileprivate var base: AsyncStream<Element>.Iterator
        fileprivate let end: End

        public mutating func next() async -> Element? { await base.next() }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            await base.next(isolation: actor)
        }

        /// Goes with the iterator, however the loop ended.
        fileprivate final class End: Sendable {
            let continuation: Continuation
            let onTermination: @Sendable () -> Void

            init(continuation: Continuation, onTermination: @escaping @Sendable () -> Void) {
                self.continuation = continuation
                self.onTermination = onTermination
            }

            deinit {
                onTermination()
                continuation.finish()
            }
        }
    }
}
