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
