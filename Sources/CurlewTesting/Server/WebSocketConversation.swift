internal import Curlew
internal import CurlewCore
internal import Foundation

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
