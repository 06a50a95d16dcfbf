internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// A body from a sequence that is created again whenever the body is sent again.
///
/// Each sending reads a separate `SequenceBodyStream`; when it ends, a new one replaces it. The sequence of an exchange
/// runs with the task-local values of the request's task. If libcurl rewinds the body within an exchange, the new
/// sequence runs without them, because the transport's thread starts it.
final class RemadeSequenceBody<Source: AsyncSequence & Sendable>: TaskBoundBody where Source.Element == Data {
    private struct State: Sendable {
        var current: SequenceBodyStream<Source>
        var waker: (any BodyWaker)?
    }

    private let makeSource: @Sendable () -> Source
    private let state: Lock<State>

    init(_ makeSource: @escaping @Sendable () -> Source) {
        self.makeSource = makeSource
        state = Lock(State(current: SequenceBodyStream(makeSource)))
    }

    private var current: SequenceBodyStream<Source> { state.withLock { $0.current } }

    var isReplayable: Bool { true }

    func open(waker: any BodyWaker) {
        let (current, _) = state.withLock { ($0.current, exchange(&$0.waker, with: waker)) }
        current.open(waker: waker)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyRead { current.read(into: buffer) }

    func rewind() -> Bool {
        if current.rewind() { return true }
        let fresh = SequenceBodyStream(makeSource)
        let (former, waker) = state.withLock { (exchange(&$0.current, with: fresh), $0.waker) }
        end(former)
        if let waker { fresh.open(waker: waker) }
        return true
    }

    func close() {
        let fresh = SequenceBodyStream(makeSource)
        // Both are replaced in one step. As soon as the new stream is in place the next sending may open it, and its
        // waker must not be lost.
        let (former, _) = state.withLock { (exchange(&$0.current, with: fresh), exchange(&$0.waker, with: nil)) }
        end(former)
    }

    private func end(_ sending: SequenceBodyStream<Source>) {
        sending.close()
        // Its task may have been created but not started. Nothing else would end it.
        sending.unbind()
    }

    func bind() { current.bind() }

    func unbind() { current.unbind() }
}
