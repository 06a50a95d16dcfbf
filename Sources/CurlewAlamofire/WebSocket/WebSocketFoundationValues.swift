internal import Curlew
internal import Foundation
internal import FoundationNetworking

extension WebSocketMessage {
    init(_ message: URLSessionWebSocketTask.Message) {
        switch message {
        case .data(let data): self = .data(data)
        case .string(let text): self = .text(text)
        @unknown default: self = .data(Data())
        }
    }

    var foundationMessage: URLSessionWebSocketTask.Message {
        switch self {
        case .data(let data): .data(data)
        case .text(let text): .string(text)
        }
    }
}

extension WebSocketCloseCode {
    init(_ code: URLSessionWebSocketTask.CloseCode) { self.init(rawValue: UInt16(clamping: code.rawValue)) }

    var foundationCode: URLSessionWebSocketTask.CloseCode { .init(rawValue: Int(rawValue)) ?? .invalid }
}

extension WebSocketRequest.Completion {
    init(_ completion: WebSocketCompletion) {
        self.init(
            request: completion.request, response: completion.response, metrics: completion.metrics,
            error: completion.error)
    }
}
