public import Curlew
public import Foundation
public import FoundationNetworking

extension WebSocketRequest {
    /// What a handler gets: what has happened, and the means to answer it.
    public struct Event<Success: Sendable, Failure: Error>: Sendable {
        /// What has happened.
        public enum Kind: Sendable {
            /// The WebSocket is open, with the subprotocol that the server selected.
            case connected(protocol: String?)
            /// A message has come.
            case receivedMessage(Success)
            /// A message has come that the serializer does not take. The WebSocket stays open.
            case serializerFailed(Failure)
            /// The WebSocket was closed, by either side. Not told where it was cancelled or broke. An application's own
            /// code is `.invalid`, since Foundation's type has no place for it: `closeCode` of the request has it.
            case disconnected(closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?)
            /// The end: always last.
            case completed(Completion)
        }

        weak var socket: WebSocketRequest?
        /// What has happened.
        public let kind: Kind

        /// The message, where this is one.
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

    /// How a WebSocket ended.
    public struct Completion: Sendable {
        /// The last `URLRequest` that was sent.
        public let request: URLRequest?
        /// The head of the last answer.
        public let response: HTTPURLResponse?
        /// The last attempt's metrics.
        public let metrics: TransferMetrics?
        /// What went wrong; nil where a close frame has ended it, whatever its code.
        public let error: CurlewError?
    }

    /// How a WebSocket behaves, as far as Alamofire knows of it.
    public struct Configuration: Sendable {
        /// The defaults.
        public static var `default`: Self { Self() }

        /// The defaults with a subprotocol.
        public static func `protocol`(_ protocol: String) -> Self { Self(protocol: `protocol`) }

        /// The defaults with another bound on messages.
        public static func maximumMessageSize(_ maximumMessageSize: Int) -> Self {
            Self(maximumMessageSize: maximumMessageSize)
        }

        /// The defaults with pings that go out by themselves.
        public static func pingInterval(_ pingInterval: TimeInterval) -> Self { Self(pingInterval: pingInterval) }

        /// The subprotocol that is asked for.
        public let `protocol`: String?
        /// Most bytes of a message that is received.
        public let maximumMessageSize: Int
        /// How many seconds after a pong the next ping goes out by itself; nil for none.
        public let pingInterval: TimeInterval?

        /// Creates a configuration.
        public init(protocol: String? = nil, maximumMessageSize: Int = 1_048_576, pingInterval: TimeInterval? = nil) {
            self.`protocol` = `protocol`
            self.maximumMessageSize = maximumMessageSize
            self.pingInterval = pingInterval
        }
    }

    /// What became of a ping.
    public enum PingResponse: Sendable {
        /// When the ping went out, and when it was answered.
        public struct Pong: Sendable {
            /// When the ping was asked for.
            public let start: Date
            /// When the pong came.
            public let end: Date
            /// How long the answer took, in seconds.
            public let latency: TimeInterval
        }

        /// It was answered.
        case pong(Pong)
        /// It was not answered.
        case error(any Error)
        /// It was not sent: the request is not started, is suspended, or has ended.
        case unsent
    }
}
