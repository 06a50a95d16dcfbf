public import Foundation

/// Converts the peer's bytes into messages and control frames.
package struct WebSocketReceiver: Sendable {
    private var parser: WebSocketFrameParser
    private var message: WebSocketMessageAssembler
    /// The payload of the control frame that is arriving, unmasked.
    private var control: [UInt8] = []
    private var isClosed = false
    private var frame: WebSocketFrameHeader?

    /// Creates a receiver. Pass a `decompressor` only if permessage-deflate was agreed on.
    package init(
        sender: WebSocketRole, limits: WebSocketLimits, decompressor: (any WebSocketDecompressor)? = nil
    ) {
        parser = WebSocketFrameParser(
            rules: WebSocketFrameRules(
                sender: sender, maximumFrameSize: limits.frame, allowsCompression: decompressor != nil))
        message = WebSocketMessageAssembler(maximumSize: limits.message, decompressor: decompressor)
    }

    /// Returns the next event and removes its bytes from `input`; `nil` if more bytes are needed, or after a close
    /// frame.
    package mutating func next(
        _ input: inout UnsafeRawBufferPointer
    ) throws(WebSocketViolation) -> WebSocketEvent? {
        while !isClosed, let event = try parser.next(&input) {
            switch event {
            case .began(let header):
                frame = header
                if header.opcode.isControl {
                    control.removeAll(keepingCapacity: true)
                } else {
                    try message.frameBegan(header)
                }
            case .payload(let bytes, let position):
                guard let frame else { break }
                if frame.opcode.isControl {
                    append(bytes, of: frame, position: position)
                } else {
                    try message.append(bytes, of: frame, position: position)
                }
            case .ended:
                guard let frame else { break }
                if frame.opcode.isControl { return try controlEvent(frame.opcode) }
                if let whole = try message.frameEnded(frame) { return .message(whole) }
            }
        }
        return nil
    }

    private mutating func append(_ bytes: UnsafeRawBufferPointer, of frame: WebSocketFrameHeader, position: Int) {
        control.append(contentsOf: bytes)
        guard let mask = frame.mask else { return }
        control.withUnsafeMutableBytes {
            WebSocketMask.apply(mask, to: .init(rebasing: $0[position...]), position: position)
        }
    }

    private mutating func controlEvent(_ opcode: WebSocketOpcode) throws(WebSocketViolation) -> WebSocketEvent? {
        switch opcode {
        case .ping: return .ping(control)
        case .pong: return .pong(control)
        case .close:
            isClosed = true
            let payload = try WebSocketClosePayload(reading: control)
            return .close(payload.code, reason: payload.reason)
        case .continuation, .text, .binary: return nil
        }
    }
}

/// A message or a control frame from the peer.
package enum WebSocketEvent: Sendable, Equatable {
    case message(WebSocketMessage)
    case ping([UInt8])
    case pong([UInt8])
    /// A close frame; the code is `nil` if the frame had none. Everything after it is ignored.
    case close(WebSocketCloseCode?, reason: String)
}

/// A message of a WebSocket.
public enum WebSocketMessage: Sendable, Hashable {
    /// Text, transferred as UTF-8.
    case text(String)
    /// Binary data.
    case data(Data)
}

/// The limits for the data that one side accepts from the other.
package struct WebSocketLimits: Sendable, Hashable {
    /// The most payload bytes of one frame, before decompression.
    package var frame: Int
    /// The most bytes of one message, after decompression.
    package var message: Int

    package static let standardMessageSize = 16 * 1024 * 1024

    package init(frame: Int, message: Int) {
        self.frame = frame
        self.message = message
    }

    /// Creates limits for messages of at most this size.
    package init(message: Int = Self.standardMessageSize) {
        let message = max(0, message)
        // Incompressible data grow by five bytes per 16 KiB, and by a few more at the end. The limit has some reserve.
        let growth = message / 2048 + 64
        self.init(
            frame: message.addingReportingOverflow(growth).overflow ? message : message + growth, message: message)
    }
}
