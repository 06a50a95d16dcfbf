import CurlewCore
import CurlewLocks
import Foundation

/// A sink that records its calls and returns the dispositions that a test gave it.
final class RecordingSink: TransferSink {
    enum Event: Equatable {
        case started
        case informational(Int)
        case head(Int)
        case body(String)
        case sent(Int64, of: Int64?)
    }

    private struct State {
        var events: [Event] = []
        var control: (any TransferControl)?
        var answers: [Disposition] = []
        var taken = Data()
    }

    private let state: Lock<State>

    /// Returns `answers` for calls with a head or with body bytes, in order, and `.proceed` for all later ones.
    init(_ answers: [Disposition] = []) { state = Lock(State(answers: answers)) }

    var events: [Event] { state.withLock { $0.events } }
    /// The body bytes of all calls that returned `.proceed`.
    var taken: String { state.withLock { String(decoding: $0.taken, as: UTF8.self) } }
    var control: (any TransferControl)? { state.withLock { $0.control } }

    func willStart(_ control: any TransferControl) {
        state.withLock {
            $0.events.append(.started)
            $0.control = control
        }
    }

    func didReceive(informational head: ResponseHead) { note(.informational(head.status)) }

    func didReceive(head: ResponseHead) -> Disposition {
        note(.head(head.status))
        return answer()
    }

    func didReceive(body: UnsafeRawBufferPointer) -> Disposition {
        let data = Data(body)
        note(.body(String(decoding: data, as: UTF8.self)))
        let answer = answer()
        if case .proceed = answer { state.withLock { $0.taken.append(data) } }
        return answer
    }

    func didSend(bodyBytes: Int64, of expected: Int64?) { note(.sent(bodyBytes, of: expected)) }

    private func note(_ event: Event) { state.withLock { $0.events.append(event) } }

    private func answer() -> Disposition {
        state.withLock { $0.answers.isEmpty ? .proceed : $0.answers.removeFirst() }
    }
}

extension TransferRequest {
    static func test(
        _ path: String = "/",
        method: HTTPMethod = .get,
        body: BodySource = .none,
        maximumBodySize: Int? = nil
    ) -> TransferRequest {
        TransferRequest(
            identifier: TaskIdentifier(rawValue: 1),
            attempt: 2,
            url: URL(string: "http://mock.test" + path) ?? URL(filePath: "/"),
            method: method,
            body: body,
            options: TransferOptions(maximumBodySize: maximumBodySize)
        )
    }
}

extension Transport {
    /// Performs the request, and returns its error instead of throwing it.
    func result(of request: TransferRequest, sink: any TransferSink) async -> Result<TransferOutcome, CurlewError> {
        do throws(CurlewError) { return .success(try await perform(request, sink: sink)) } catch {
            return .failure(error)
        }
    }
}

extension Result {
    var error: Failure? { if case .failure(let error) = self { error } else { nil } }
}

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
