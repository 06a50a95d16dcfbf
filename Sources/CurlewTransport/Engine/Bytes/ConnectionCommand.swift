internal import CurlewCore
internal import Foundation

/// A command from a connection's user to the loop.
enum ConnectionCommand: Sendable {
    typealias Answer<Value: Sendable> = UnsafeContinuation<Result<Value, CurlewError>, Never>

    case receive(Int, maximum: Int, Answer<[UInt8]?>)
    case send([UInt8])
    case awaitRoom(Int, Answer<Void>)
    case finish(Int, Answer<Void>)
    /// The task that waits was cancelled.
    case abandon(Int)
    case close

    /// Answers a command that cannot be carried out.
    func fail(_ error: CurlewError) {
        switch self {
        case .receive(_, _, let answer): answer.resume(returning: .failure(error))
        case .awaitRoom(_, let answer), .finish(_, let answer): answer.resume(returning: .failure(error))
        case .send, .abandon, .close: break
        }
    }
}

extension CurlewError {
    static let transportShutDown = CurlewError(
        .sessionClosed, phase: .lifecycle, reason: "the transport is shut down")

    static func connectionClosed(_ url: URL? = nil) -> CurlewError {
        CurlewError(.cancelled, phase: .lifecycle, reason: "the connection was closed", url: url)
    }
}
