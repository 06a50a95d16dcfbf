internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// Responds without a network, so that only the session's own work is measured.
struct NoNetwork: Transport {
    static let origin = "http://bench.invalid"
    /// The URL whose requests wait until they are cancelled.
    static let kept = "\(origin)/kept"
    private static let then = Date()
    private static let head = ResponseHead(status: 200, headers: ["Content-Type": "text/plain"])

    func perform(_ request: TransferRequest, sink: any TransferSink) async throws(CurlewError) -> TransferOutcome {
        if request.url.path == "/kept" {
            let control = Ending()
            sink.willStart(control)
            throw await control.error
        }
        _ = sink.didReceive(head: Self.head)
        _ = withUnsafeBytes(of: UInt64.max) { sink.didReceive(body: $0) }
        return TransferOutcome(head: Self.head, metrics: TransferMetrics(queued: Self.then, ended: Self.then))
    }
}

/// Lets an exchange without a response wait until it is cancelled.
private final class Ending: TransferControl {
    private enum State {
        case open
        case waiting(CheckedContinuation<CurlewError, Never>)
        case ended(CurlewError)
    }

    private let state = Lock(State.open)

    var error: CurlewError {
        get async {
            await withCheckedContinuation { continuation in
                let early = state.withLock { state -> CurlewError? in
                    if case .ended(let error) = state { return error }
                    state = .waiting(continuation)
                    return nil
                }
                if let early { continuation.resume(returning: early) }
            }
        }
    }

    func cancel(with error: CurlewError) {
        let waiting = state.withLock { state -> CheckedContinuation<CurlewError, Never>? in
            defer { state = .ended(error) }
            if case .waiting(let continuation) = state { return continuation }
            return nil
        }
        waiting?.resume(returning: error)
    }

    func resumeReceiving() {}
    func suspend() {}
    func resume() {}
}
