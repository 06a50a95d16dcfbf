import CurlewCore
import CurlewLocks

/// A body that is always pending.
final class SilentBody: BodyStream {
    var isReplayable: Bool { false }
    func open(waker: any BodyWaker) {}
    func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyRead { .pending }
    func rewind() -> Bool { false }
    func close() {}
}

/// A body that returns its pieces one by one. For a `nil` piece, the read wakes its reader and returns `.pending`.
final class PiecewiseBody: BodyStream {
    private struct State {
        var pieces: [String?]
        var waker: (any BodyWaker)?
        var isClosed = false
    }

    private let state: Lock<State>

    init(_ pieces: [String?]) { state = Lock(State(pieces: pieces)) }

    var isReplayable: Bool { false }
    var isClosed: Bool { state.withLock { $0.isClosed } }

    func open(waker: any BodyWaker) { state.withLock { $0.waker = waker } }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyRead {
        let (piece, waker) = state.withLock { state -> (String??, (any BodyWaker)?) in
            (state.pieces.isEmpty ? .none : .some(state.pieces.removeFirst()), state.waker)
        }
        switch piece {
        case .none: return .end
        case .some(.none):
            waker?.wake()
            return .pending
        case .some(.some(let text)):
            buffer.copyBytes(from: Array(text.utf8))
            return .bytes(text.utf8.count)
        }
    }

    func rewind() -> Bool { false }
    func close() { state.withLock { $0.isClosed = true } }
}
