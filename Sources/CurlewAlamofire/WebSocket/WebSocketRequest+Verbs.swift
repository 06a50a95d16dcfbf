public import Curlew
internal import CurlewLocks
public import Foundation
public import FoundationNetworking

extension WebSocketRequest {
    /// Closes the WebSocket. The close frame is sent after the messages that are waiting, and handlers are notified
    /// when the server has answered.
    ///
    /// A code that may not be sent, such as `.invalid`, is left out of the close frame.
    public func close(sending closeCode: URLSessionWebSocketTask.CloseCode, reason: Data? = nil) {
        beginClosing(WebSocketCloseCode(closeCode), reason: reason.map { String(decoding: $0, as: UTF8.self) })
    }

    /// Sends a ping, and calls `onResponse` with its outcome on `queue`.
    public func sendPing(
        respondingOn queue: DispatchQueue = .main, onResponse: @escaping @Sendable (PingResponse) -> Void
    ) {
        let handoff = Handoff()
        guard isResumed else { return handoff(to: queue) { onResponse(.unsent) } }
        let start = Date()
        ping { result in
            let response: PingResponse =
                switch result {
                case .success(let trip): .pong(.init(start: start, end: Date(), latency: trip / .seconds(1)))
                case .failure(let error): .error(error)
                }
            handoff(to: queue) { onResponse(response) }
        }
    }

    /// Sends a message when the WebSocket is open and there is room. Several messages are sent in the order of the
    /// calls.
    public func send(
        _ message: URLSessionWebSocketTask.Message,
        queue: DispatchQueue = .main,
        completionHandler: @escaping @Sendable (Result<Void, any Error>) -> Void
    ) {
        let handoff = Handoff()
        enqueue(WebSocketMessage(message)) { result in
            handoff(to: queue) { completionHandler(result.mapError { $0 as any Error }) }
        }
    }
}
