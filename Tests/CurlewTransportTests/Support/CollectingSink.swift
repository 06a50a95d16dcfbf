import CurlewCore
import CurlewLocks
import Foundation

/// A sink that collects everything it receives, and returns the dispositions that a test has set.
final class CollectingSink: TransferSink {
    struct State: Sendable {
        var control: (any TransferControl)?
        var informational: [ResponseHead] = []
        var head: ResponseHead?
        var body = Data()
        var chunks = 0
        var sent: [Int64] = []
        var expected: Int64?
        var headAnswers: [Disposition] = []
        var bodyAnswers: [Disposition] = []
        var keepsBody = true
        var bodyCount: Int64 = 0
        var observers: [@Sendable (Event) -> Void] = []
    }

    enum Event: Sendable { case started, informational, head, body, sent }

    let state = Lock(State())

    var head: ResponseHead? { state.withLock { $0.head } }
    var body: Data { state.withLock { $0.body } }
    var text: String { String(decoding: body, as: UTF8.self) }
    var control: (any TransferControl)? { state.withLock { $0.control } }

    /// Adds an observer. It is called for every event, on the thread that has the loop's turn.
    func observe(_ observer: @escaping @Sendable (Event) -> Void) {
        state.withLock { $0.observers.append(observer) }
    }

    private func tell(_ event: Event) {
        for observer in state.withLock({ $0.observers }) { observer(event) }
    }

    func willStart(_ control: any TransferControl) {
        state.withLock { $0.control = control }
        tell(.started)
    }

    func didReceive(informational head: ResponseHead) {
        state.withLock { $0.informational.append(head) }
        tell(.informational)
    }

    func didReceive(head: ResponseHead) -> Disposition {
        let answer: Disposition = state.withLock {
            $0.head = head
            return $0.headAnswers.isEmpty ? .proceed : $0.headAnswers.removeFirst()
        }
        tell(.head)
        return answer
    }

    func didReceive(body: UnsafeRawBufferPointer) -> Disposition {
        let answer: Disposition = state.withLock { state in
            let answer: Disposition = state.bodyAnswers.isEmpty ? .proceed : state.bodyAnswers.removeFirst()
            if case .proceed = answer {
                state.chunks += 1
                state.bodyCount += Int64(body.count)
                if state.keepsBody { state.body.append(contentsOf: body) }
            }
            return answer
        }
        tell(.body)
        return answer
    }

    func didSend(bodyBytes: Int64, of expected: Int64?) {
        state.withLock {
            $0.sent.append(bodyBytes)
            $0.expected = expected
        }
        tell(.sent)
    }
}
