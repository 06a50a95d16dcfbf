public import CurlewCore
public import Foundation

extension TestServer {
    /// What the server's end of a WebSocket says and does, step by step. Pings are answered while it reads.
    ///
    ///     server.webSocket("/echo", .echo)
    ///     server.webSocket("/feed", TestServer.WebSocketScript([.send(.text("one")), .close(.goingAway)]))
    ///
    /// Behind the last step it reads until the client closes, and answers that.
    public struct WebSocketScript: Sendable {
        /// One step.
        public enum Step: Sendable {
            /// Sends a message.
            case send(WebSocketMessage)
            /// Sends a message in fragments, a frame each.
            case fragments([Data], isText: Bool)
            /// Sends a ping.
            case ping(Data)
            /// Reads so many messages.
            case receive(Int)
            /// Sends every message back until the client closes.
            case echo
            /// Sends bytes as they are: half a frame, a wrong mask, what is no frame.
            case raw(Data)
            /// Does nothing for so long.
            case pause(Duration)
            /// Does nothing until the gate opens.
            case wait(Gate)
            /// Sends a close frame, and reads until the client has answered it.
            case close(WebSocketCloseCode, reason: String = "")
            /// Neither reads nor says anything any more.
            case silence
            /// Ends the connection without a close frame.
            case cut
            /// Ends its own direction without a close frame, and goes on reading until the client ends the connection.
            case halfClose
            /// Ends the connection with a reset.
            case reset
        }

        /// What it does, in order.
        public var steps: [Step]
        /// The subprotocols that it speaks, the best first.
        public var protocols: [String] = []
        /// Whether it agrees to compress messages.
        public var compresses = false
        /// Most bytes of a message that it takes.
        public var maximumMessageSize = 64 * 1024 * 1024
        /// Changes the fields of the answer to the handshake.
        public var changesAnswer: (@Sendable (inout HTTPHeaders) -> Void)?
        /// Is told every message that comes, on the server's thread.
        public var onMessage: (@Sendable (WebSocketMessage) -> Void)?
        /// Is told every ping that comes, on the server's thread.
        public var onPing: (@Sendable (Data) -> Void)?
        /// Is told the client's close frame, on the server's thread.
        public var onClose: (@Sendable (WebSocketCloseCode?, String) -> Void)?

        /// Creates a script.
        public init(_ steps: [Step]) { self.steps = steps }

        /// Sends every message back.
        public static var echo: Self { Self([.echo]) }

        /// The same, changed by a closure.
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
    /// Opens a WebSocket where the request asks for one, and refuses it otherwise.
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

/// A script, and what was agreed on for it.
struct AgreedConversation: Sendable {
    let script: TestServer.WebSocketScript
    let compression: PermessageDeflate?
}
