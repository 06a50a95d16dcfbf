/// Converts messages into the bytes to send.
package struct WebSocketSender: Sendable {
    private let role: WebSocketRole
    private let compressor: (any WebSocketCompressor)?
    private var compressed: [UInt8] = []

    /// The largest buffer, in bytes, that is kept after its message.
    private static let keptCapacity = 4 * 1024

    /// Creates a sender. Pass a `compressor` only if permessage-deflate was agreed on.
    package init(role: WebSocketRole, compressor: (any WebSocketCompressor)? = nil) {
        self.role = role
        self.compressor = compressor
    }

    /// Appends one frame with a whole message, or a control frame. A client masks it with `key`.
    package mutating func append(
        _ opcode: WebSocketOpcode, _ payload: UnsafeRawBufferPointer, key: WebSocketMaskKey, to output: inout [UInt8]
    ) {
        guard !opcode.isControl, let compressor else {
            return Self.frame(opcode, payload, isCompressed: false, mask: mask(key), to: &output)
        }
        compressed.removeAll(keepingCapacity: compressed.capacity <= Self.keptCapacity)
        let isCompressed = compressor.compress(payload, into: &compressed)
        guard isCompressed else {
            return Self.frame(opcode, payload, isCompressed: false, mask: mask(key), to: &output)
        }
        compressed.withUnsafeBytes { Self.frame(opcode, $0, isCompressed: true, mask: mask(key), to: &output) }
    }

    private func mask(_ key: WebSocketMaskKey) -> WebSocketMaskKey? { role.masksWhatItSends ? key : nil }

    package static func frame(
        _ opcode: WebSocketOpcode, _ payload: UnsafeRawBufferPointer, isFinal: Bool = true, isCompressed: Bool = false,
        mask: WebSocketMaskKey?, to output: inout [UInt8]
    ) {
        let header = WebSocketFrameHeader(
            opcode, length: payload.count, isFinal: isFinal, isCompressed: isCompressed, mask: mask)
        header.write(to: &output)
        let start = output.count
        output.append(contentsOf: payload)
        guard let mask else { return }
        output.withUnsafeMutableBytes { WebSocketMask.apply(mask, to: .init(rebasing: $0[start...])) }
    }
}
