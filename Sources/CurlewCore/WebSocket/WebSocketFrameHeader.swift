/// The header of a frame (RFC 6455, 5.2).
package struct WebSocketFrameHeader: Equatable, Sendable {
    package var isFinal: Bool
    /// RSV1, with which permessage-deflate marks the first frame of a compressed message.
    package var isCompressed: Bool
    package var opcode: WebSocketOpcode
    package var length: Int
    package var mask: WebSocketMaskKey?

    package init(
        _ opcode: WebSocketOpcode, length: Int, isFinal: Bool = true, isCompressed: Bool = false,
        mask: WebSocketMaskKey? = nil
    ) {
        self.opcode = opcode
        self.length = length
        self.isFinal = isFinal
        self.isCompressed = isCompressed
        self.mask = mask
    }

    /// The most bytes in the payload of a control frame.
    package static let maximumControlLength = 125

    // MARK: Reading

    /// Parses the header at the start of `bytes`, and returns it with its size; `nil` if it is incomplete.
    ///
    /// A violation is reported at the first byte that reveals it, even if the header is incomplete.
    static func parse(
        _ bytes: UnsafeRawBufferPointer, rules: WebSocketFrameRules
    ) throws(WebSocketViolation) -> (header: Self, size: Int)? {
        guard bytes.count >= 1 else { return nil }
        let first = bytes[0]
        let opcode = try rules.checkedOpcode(ofFirstByte: first)
        guard bytes.count >= 2 else { return nil }
        let second = bytes[1]
        let shortLength = Int(second & 0x7F)
        let isMasked = second & 0x80 != 0
        try rules.check(opcode, shortLength: shortLength, isMasked: isMasked)
        let lengthSize = shortLength == 126 ? 2 : shortLength == 127 ? 8 : 0
        guard bytes.count >= 2 + lengthSize else { return nil }
        var length = UInt64(shortLength)
        if lengthSize > 0 {
            length = 0
            for index in 2..<2 + lengthSize { length = length << 8 | UInt64(bytes[index]) }
        }
        let checked = try rules.check(length: length, in: lengthSize)
        let size = 2 + lengthSize + (isMasked ? 4 : 0)
        guard bytes.count >= size else { return nil }
        let key = size - 4
        let header = Self(
            opcode, length: checked, isFinal: first & 0x80 != 0, isCompressed: first & 0x40 != 0,
            mask: isMasked ? WebSocketMaskKey((bytes[key], bytes[key + 1], bytes[key + 2], bytes[key + 3])) : nil)
        return (header, size)
    }

    // MARK: Writing

    /// Appends the header, with the length in its shortest form.
    package func write(to bytes: inout [UInt8]) {
        bytes.append((isFinal ? 0x80 : 0) | (isCompressed ? 0x40 : 0) | opcode.rawValue)
        let maskBit: UInt8 = mask == nil ? 0 : 0x80
        switch length {
        case ...125:
            bytes.append(maskBit | UInt8(truncatingIfNeeded: length))
        case ...0xFFFF:
            bytes.append(maskBit | 126)
            Self.append(UInt64(length), size: 2, to: &bytes)
        default:
            bytes.append(maskBit | 127)
            Self.append(UInt64(length), size: 8, to: &bytes)
        }
        guard let mask else { return }
        for index in 0..<4 { bytes.append(mask.byte(index)) }
    }

    private static func append(_ value: UInt64, size: Int, to bytes: inout [UInt8]) {
        for index in (0..<size).reversed() { bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(index * 8))) }
    }
}

/// The type of a frame (RFC 6455, 5.2).
package enum WebSocketOpcode: UInt8, Sendable {
    case continuation = 0x0
    case text = 0x1
    case binary = 0x2
    case close = 0x8
    case ping = 0x9
    case pong = 0xA

    /// Whether this is a control frame. Control frames are short, are never fragmented, and may appear between the
    /// fragments of a message.
    package var isControl: Bool { rawValue & 0x8 != 0 }
}

/// One end of a connection.
package enum WebSocketRole: Sendable {
    case client, server

    /// Whether this end masks its frames: a client masks every frame, a server none (RFC 6455, 5.1).
    package var masksWhatItSends: Bool {
        switch self {
        case .client: true
        case .server: false
        }
    }
}
