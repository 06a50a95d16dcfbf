internal import CurlewCore
internal import Foundation

/// Makes frames, and passes their bytes to a receiver.
enum Frames {
    static let key = WebSocketMaskKey((0x37, 0xFA, 0x21, 0x3D))

    static func frame(
        _ opcode: WebSocketOpcode, _ payload: [UInt8] = [], final: Bool = true, compressed: Bool = false,
        masked: Bool = false
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        payload.withUnsafeBytes {
            WebSocketSender.frame(
                opcode, $0, isFinal: final, isCompressed: compressed, mask: masked ? key : nil, to: &bytes)
        }
        return bytes
    }

    static func text(_ text: String, final: Bool = true, masked: Bool = false) -> [UInt8] {
        frame(.text, Array(text.utf8), final: final, masked: masked)
    }

    static func close(_ code: UInt16, _ reason: String = "") -> [UInt8] {
        frame(.close, [UInt8(code >> 8), UInt8(code & 0xFF)] + reason.utf8)
    }

    /// Returns the events in the pieces, and the violation that has ended the parsing.
    static func events(
        in pieces: [some Collection<UInt8>], to receiver: inout WebSocketReceiver
    ) -> (events: [WebSocketEvent], violation: WebSocketViolation?) {
        var events: [WebSocketEvent] = []
        for piece in pieces {
            let bytes = Array(piece)
            let violation: WebSocketViolation? = bytes.withUnsafeBytes { buffer in
                var input = buffer
                do throws(WebSocketViolation) {
                    while let event = try receiver.next(&input) { events.append(event) }
                    return nil
                } catch {
                    return error
                }
            }
            if let violation { return (events, violation) }
        }
        return (events, nil)
    }

    /// Passes the bytes one by one to a receiver. Returns the violation and the number of bytes up to it; `nil` if
    /// there is none.
    static func failure(
        of bytes: [UInt8], limits: WebSocketLimits = .init(), sender: WebSocketRole = .server
    ) -> (violation: WebSocketViolation, after: Int)? {
        var receiver = WebSocketReceiver(sender: sender, limits: limits)
        for (index, byte) in bytes.enumerated() {
            if let violation = events(in: [[byte]], to: &receiver).violation { return (violation, index + 1) }
        }
        return nil
    }
}
