public import CurlewCore
public import Foundation

extension TestServer {
    /// The behaviour of the server's end of a WebSocket, step by step. It answers pings while it reads.
    ///
    ///     server.webSocket("/echo", .echo)
    ///     server.webSocket("/feed", TestServer.WebSocketScript([.send(.text("one")), .close(.goingAway)]))
    ///
    /// After the last step, it reads until the client closes, and answers the close frame.
    public struct WebSocketScript: Sendable {
        /// One step of a script.
        public enum Step: Sendable {
            /// Sends a message.
            case send(WebSocketMessage)
            /// Sends a message in fragments, one frame each.
            case fragments([Data], isText: Bool)
            /// Sends a ping.
            case ping(Data)
            /// Reads this number of messages.
            case receive(Int)
            /// Sends every message back until the client closes.
            case echo
            /// Sends these bytes unchanged: a partial frame, a wrong mask, or bytes that are not a frame.
            case raw(Data)
            /// Pauses for a duration.
            case pause(Duration)
            /// Pauses until the gate opens.
            case wait(Gate)
            /// Sends a close frame, then reads until the client has answered it. Later steps are skipped.
            case close(WebSocketCloseCode, reason: String = "")
            /// Neither reads nor writes until the client leaves.
            case silence
            /// Ends the connection without a close frame.
            case cut
            /// Ends the server's direction without a close frame, then reads until the client ends the connection.
            case halfClose
            /// Ends the connection with a reset.
            case reset
        }

        /// The steps, in order.
        public var steps: [Step]
        /// The supported subprotocols, most preferred first.
        public var protocols: [String] = []
        /// Whether the server accepts message compression.
        public var compresses = false
        /// The largest message that the server accepts, in bytes.
        public var maximumMessageSize = 64 * 1024 * 1024
        /// Changes the fields of the handshake's response.
        public var changesAnswer: (@Sendable (inout HTTPHeaders) -> Void)?
        /// Called with every received message, on the thread of the server or on the task of a ``MockTransport``.
        public var onMessage: (@Sendable (WebSocketMessage) -> Void)?
        /// Called with every received ping, on the thread of the server or on the task of a ``MockTransport``.
        public var onPing: (@Sendable (Data) -> Void)?
        /// Called with the client's close frame, on the thread of the server or on the task of a ``MockTransport``.
        public var onClose: (@Sendable (WebSocketCloseCode?, String) -> Void)?

        /// Creates a script.
        public init(_ steps: [Step]) { self.steps = steps }

        /// A script that sends every message back.
        public static var echo: Self { Self([.echo]) }

        /// Returns a copy that the closure has changed.
        public func changed(_ change: (inout Self) -> Void) -> Self {
            var copy = self
            change(&copy)
            return copy
        }
    }

    /// Opens a WebSocket for every handshake at this path, and follows the script.
    public func webSocket(_ path: String, _ script: WebSocketScript) {
        route(path) { .webSocket(script, for: $0) }
    }
}

extension TestServer.Response {
    /// Opens a WebSocket if the request is a valid handshake; otherwise refuses it.
    public static func webSocket(_ script: TestServer.WebSocketScript, for request: TestServer.Request) -> Self {
        let acceptance = WebSocketAcceptance(
            method: request.method,
            version: request.version,
            headers: request.headers,
            protocols: script.protocols,
            compresses: script.compresses
        )
        switch acceptance {
        case .refuse(let status, let headers, let reason):
            var refusal = text("\(reason)\n", status: status)
            for field in headers { refusal.headers.append(field) }
            return refusal
        case .accept(var headers, let agreement):
            script.changesAnswer?(&headers)
            var response = Self(status: 101, headers: headers)
            response.framing = .asIs
            response.conversation = AgreedConversation(script: script, compression: agreement.compression)
            return response
        }
    }
}

/// A script, and the compression agreed on in the handshake.
struct AgreedConversation: Sendable {
    let script: TestServer.WebSocketScript
    let compression: PermessageDeflate?
}
