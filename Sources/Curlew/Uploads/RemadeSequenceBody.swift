internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// A body from a sequence that is made again whenever the body has to be sent again.
///
/// Each sending reads a `SequenceBodyStream` of its own. A sending that ends leaves the next one in its place. The
/// sequence of an exchange runs with the task-local values of the request's task. One that is made because libcurl
/// rewinds the body within an exchange runs without them, because the transport's thread starts it.
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
        // In one step: the next sending may open as soon as its stream is in its place, and must not lose its waker.
        let (former, _) = state.withLock { (exchange(&$0.current, with: fresh), exchange(&$0.waker, with: nil)) }
        end(former)
    }

    private func end(_ sending: SequenceBodyStream<Source>) {
        sending.close()
        // Its task may have been made without having begun: nothing else would end it.
        sending.unbind()
    }

    func bind() { current.bind() }

    func unbind() { current.unbind() }
}
