import CurlewCore
import CurlewLocks
import Foundation

/// A body stream that follows a list of steps.
final class ScriptedBody: BodyStream {
    enum Step: Sendable {
        case bytes(String)
        case pending
        case end
        case failed(CurlewError)
    }

    private struct State {
        var steps: [Step]
        var waker: (any BodyWaker)?
        var onPending: (@Sendable (any BodyWaker) -> Void)?
        var opens = 0
        var closes = 0
        var rewinds = 0
    }

    private let original: [Step]
    private let state: Lock<State>
    let isReplayable: Bool

    init(_ steps: [Step], isReplayable: Bool = false) {
        original = steps
        self.isReplayable = isReplayable
        state = Lock(State(steps: steps))
    }

    var opens: Int { state.withLock { $0.opens } }
    var closes: Int { state.withLock { $0.closes } }
    var rewinds: Int { state.withLock { $0.rewinds } }

    func onPending(_ action: @escaping @Sendable (any BodyWaker) -> Void) { state.withLock { $0.onPending = action } }

    func open(waker: any BodyWaker) {
        state.withLock {
            $0.waker = waker
            $0.opens += 1
        }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyRead {
        let (read, call): (BodyRead, (@Sendable () -> Void)?) = state.withLock { state in
            guard let step = state.steps.first else { return (.end, nil) }
            state.steps.removeFirst()
            switch step {
            case .bytes(let text):
                let bytes = Array(text.utf8.prefix(buffer.count))
                buffer.copyBytes(from: bytes)
                if bytes.count < text.utf8.count {
                    state.steps.insert(
                        .bytes(String(decoding: Array(text.utf8.dropFirst(bytes.count)), as: UTF8.self)), at: 0)
                }
                return (.bytes(bytes.count), nil)
            case .pending:
                guard let waker = state.waker, let action = state.onPending else { return (.pending, nil) }
                return (.pending, { action(waker) })
            case .end: return (.end, nil)
            case .failed(let error): return (.failed(error), nil)
            }
        }
        call?()
        return read
    }

    func rewind() -> Bool {
        guard isReplayable else { return false }
        state.withLock {
            $0.steps = original
            $0.rewinds += 1
        }
        return true
    }

    func close() { state.withLock { $0.closes += 1 } }
}
