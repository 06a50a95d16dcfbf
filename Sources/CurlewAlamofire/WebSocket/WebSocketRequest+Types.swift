public import Curlew
public import Foundation
public import FoundationNetworking

extension WebSocketRequest {
    /// An event that a handler receives, with methods to act on the WebSocket.
    public struct Event<Success: Sendable, Failure: Error>: Sendable {
        /// The kind of an event, with its payload.
        public enum Kind: Sendable {
            /// The WebSocket is open, with the subprotocol that the server selected.
            case connected(protocol: String?)
            /// A message was received.
            case receivedMessage(Success)
            /// A message was received that the serializer cannot turn into a value. The WebSocket stays open.
            case serializerFailed(Failure)
            /// The WebSocket was closed, by either side. This event is missing if the WebSocket was cancelled or broke.
            /// A close code that an application defines is `.invalid`, because Foundation's type cannot express it:
            /// read `closeCode` of the request.
            case disconnected(closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?)
            /// The WebSocket has ended. Always the last event.
            case completed(Completion)
        }

        weak var socket: WebSocketRequest?
        /// The kind of the event, with its payload.
        public let kind: Kind

        /// The message. `nil` if the event is not a message.
        public var message: Success? {
            guard case .receivedMessage(let message) = kind else { return nil }
            return message
        }

        init(socket: WebSocketRequest?, kind: Kind) {
            self.socket = socket
            self.kind = kind
        }

        /// Closes the WebSocket.
        public func close(sending closeCode: URLSessionWebSocketTask.CloseCode, reason: Data? = nil) {
            socket?.close(sending: closeCode, reason: reason)
        }

        /// Ends the WebSocket without closing it.
        public func cancel() { socket?.cancel() }

        /// Sends a ping.
        public func sendPing(
            respondingOn queue: DispatchQueue = .main, onResponse: @escaping @Sendable (PingResponse) -> Void
        ) {
            socket?.sendPing(respondingOn: queue, onResponse: onResponse)
        }
    }

    /// The end of a WebSocket.
    public struct Completion: Sendable {
        /// The last `URLRequest` that was sent.
        public let request: URLRequest?
        /// The head of the last response.
        public let response: HTTPURLResponse?
        /// The last attempt's metrics.
        public let metrics: TransferMetrics?
        /// The error. `nil` if a close frame has ended the WebSocket, whatever its code.
        public let error: CurlewError?
    }

    /// The settings of a WebSocket that exist in Alamofire.
    public struct Configuration: Sendable {
        /// The defaults.
        public static var `default`: Self { Self() }

        /// The defaults with a subprotocol.
        public static func `protocol`(_ protocol: String) -> Self { Self(protocol: `protocol`) }

        /// The defaults with another maximum size of messages.
        public static func maximumMessageSize(_ maximumMessageSize: Int) -> Self {
            Self(maximumMessageSize: maximumMessageSize)
        }

        /// The defaults with automatic pings.
        public static func pingInterval(_ pingInterval: TimeInterval) -> Self { Self(pingInterval: pingInterval) }

        /// The subprotocol that is requested.
        public let `protocol`: String?
        /// The maximum size of a received message, in bytes.
        public let maximumMessageSize: Int
        /// The time from a pong to the next automatic ping, in seconds. `nil` sends no automatic pings.
        public let pingInterval: TimeInterval?

        /// Creates a configuration.
        public init(protocol: String? = nil, maximumMessageSize: Int = 1_048_576, pingInterval: TimeInterval? = nil) {
            self.`protocol` = `protocol`
            self.maximumMessageSize = maximumMessageSize
            self.pingInterval = pingInterval
        }
    }

    /// The outcome of a ping.
    public enum PingResponse: Sendable {
        /// The times of a ping that was answered.
        public struct Pong: Sendable {
            /// The time when the ping was requested.
            public let start: Date
            /// The time when the pong arrived.
            public let end: Date
            /// The time that the answer took, in seconds.
            public let latency: TimeInterval
        }

        /// The server answered the ping.
        case pong(Pong)
        /// The ping was not answered.
        case error(any Error)
        /// The ping was not sent: the request is not started, is suspended, or has ended.
        case unsent
    }
}
