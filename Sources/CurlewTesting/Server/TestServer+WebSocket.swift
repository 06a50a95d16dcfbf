internal import Curlew
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

/// The server's end of an open WebSocket: an interpreter of its script. One thread or task uses it at a time.
final class WebSocketConversation {
    /// The next operation of the connection.
    enum Next {
        case write([UInt8])
        /// The conversation needs more bytes.
        case read
        case wait(Duration)
        case waitFor(Gate)
        /// The conversation is over; these steps end the connection.
        case end([Step])
    }

    private let script: TestServer.WebSocketScript
    private var position = 0
    /// The number of messages that the current `receive` step has read.
    private var received = 0
    private var hasClosed = false
    private var receiver: WebSocketReceiver
    private var sender: WebSocketSender

    init(_ agreed: AgreedConversation) {
        script = agreed.script
        let compression = agreed.compression
        receiver = WebSocketReceiver(
            sender: .client,
            limits: WebSocketLimits(message: script.maximumMessageSize),
            decompressor: compression.map { MessageDecompressor($0, sender: .client) }
        )
        sender = WebSocketSender(role: .server, compressor: compression.map { MessageCompressor($0, role: .server) })
    }

    func next(_ input: inout InputBuffer) -> Next {
        guard position < script.steps.count else { return read(&input) { _ in nil } }
        switch script.steps[position] {
        case .send(let message):
            position += 1
            return .write(frame(message))
        case .fragments(let pieces, let isText):
            position += 1
            return .write(fragments(pieces, isText ? .text : .binary))
        case .ping(let payload):
            position += 1
            return .write(frame(.ping, Array(payload)))
        case .receive(let count):
            guard received < count else {
                received = 0
                position += 1
                return next(&input)
            }
            return read(&input) { _ in nil }
        case .echo: return read(&input) { self.frame($0) }
        case .raw(let bytes):
            position += 1
            return .write(Array(bytes))
        case .pause(let duration):
            position += 1
            return .wait(duration)
        case .wait(let gate):
            position += 1
            return .waitFor(gate)
        case .close(let code, let reason):
            position = script.steps.count
            hasClosed = true
            return .write(frame(.close, WebSocketClosePayload(code, reason: reason).bytes))
        case .silence: return .end([.stall])
        case .cut: return .end([.close])
        case .halfClose: return .end([.halfClose, .drain(nil), .close])
        case .reset: return .end([.reset])
        }
    }

    /// Handles the next event. The bytes that `answer` returns for a message are sent to the client.
    private func read(_ input: inout InputBuffer, answer: (WebSocketMessage) -> [UInt8]?) -> Next {
        while !input.isEmpty {
            let (result, taken) = Array(input.prefix(input.count)).withUnsafeBytes { whole in
                var rest = whole
                let result = Result { () throws(WebSocketViolation) in try receiver.next(&rest) }
                return (result, whole.count - rest.count)
            }
            input.consume(taken)
            switch result {
            case .success(nil): return .read
            case .success(.message(let message)?):
                received += 1
                script.onMessage?(message)
                return .write(answer(message) ?? [])
            case .success(.ping(let payload)?):
                script.onPing?(Data(payload))
                return .write(frame(.pong, payload))
            case .success(.pong?): continue
            case .success(.close(let code, let reason)?):
                script.onClose?(code, reason)
                if hasClosed { return .end(Step.ending) }
                return .end([.send(frame(.close, WebSocketClosePayload(code).bytes))] + Step.ending)
            case .failure(let violation):
                let payload = WebSocketClosePayload(violation.closeCode, reason: violation.reason)
                return .end([.send(frame(.close, payload.bytes))] + Step.ending)
            }
        }
        return .read
    }

    // MARK: Frames

    private func frame(_ message: WebSocketMessage) -> [UInt8] {
        switch message {
        case .text(let text): frame(.text, Array(text.utf8))
        case .data(let data): frame(.binary, Array(data))
        }
    }

    private func frame(_ opcode: WebSocketOpcode, _ payload: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        payload.withUnsafeBytes { sender.append(opcode, $0, key: WebSocketMaskKey(bits: 0), to: &bytes) }
        return bytes
    }

    private func fragments(_ pieces: [Data], _ opcode: WebSocketOpcode) -> [UInt8] {
        var bytes: [UInt8] = []
        for (index, piece) in pieces.enumerated() {
            piece.withUnsafeBytes {
                WebSocketSender.frame(
                    index == 0 ? opcode : .continuation, $0, isFinal: index == pieces.count - 1, mask: nil, to: &bytes)
            }
        }
        return bytes
    }
}
