internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// Checks the response to a handshake. If the status is not 101, the handshake is refused, with the beginning of the
/// body.
struct WebSocketTaskDelegate: TaskDelegate {
    private let answer = Lock(Answer())
    private static let excerptLimit = 64 * 1024

    private struct Answer: Sendable {
        var status = 0
        var excerpt = Data()
    }

    func begin(_ response: LazyResponse, in exchange: Exchange) -> Disposition {
        answer.withLock { $0.status = response.head.status }
        return .proceed
    }

    func receive(_ bytes: UnsafeRawBufferPointer, of data: Data?, in exchange: Exchange) -> Disposition {
        let isEnough = answer.withLock { answer in
            answer.excerpt.append(contentsOf: bytes.prefix(Self.excerptLimit - answer.excerpt.count))
            return answer.excerpt.count == Self.excerptLimit
        }
        return isEnough ? .abort(refusal) : .proceed
    }

    func close(_ error: CurlewError?, of exchange: Exchange) async -> CollectedBody {
        let status = answer.withLock { $0.status }
        guard status != 0, status != 101 else { return CollectedBody(error: error) }
        return CollectedBody(error: error, verdict: .rejected(refusal, byTerminal: false))
    }

    private var refusal: CurlewError {
        let (status, excerpt) = answer.withLock { ($0.status, $0.excerpt) }
        return CurlewError(
            .webSocketRefused, phase: .receive,
            reason: "the server did not open a WebSocket: it answered with status \(status)",
            responseCode: status, responseBody: excerpt)
    }
}
