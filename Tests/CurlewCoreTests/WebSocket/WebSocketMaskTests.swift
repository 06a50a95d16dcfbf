internal import CurlewCore
internal import Testing

@Suite("WebSocket mask", .timeLimit(.minutes(4)))
struct WebSocketMaskTests {
    private static let bytes: (UInt8, UInt8, UInt8, UInt8) = (0x37, 0xFA, 0x21, 0x3D)

    /// Masks byte by byte, as defined by RFC 6455, 5.3.
    private static func masked(_ payload: [UInt8], from position: Int) -> [UInt8] {
        let key = [bytes.0, bytes.1, bytes.2, bytes.3]
        return payload.enumerated().map { $1 ^ key[(position + $0) % 4] }
    }

    @Test("every length at every position comes out as byte for byte", arguments: 0..<9)
    func plainWay(position: Int) {
        let key = WebSocketMaskKey(Self.bytes)
        for count in 0..<70 {
            let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ 7) }
            var masked = payload
            masked.withUnsafeMutableBytes { WebSocketMask.apply(key, to: $0, position: position) }
            #expect(masked == Self.masked(payload, from: position), "\(count) bytes")
        }
    }

    @Test("memory at any alignment is masked", arguments: 0..<9)
    func alignment(offset: Int) {
        let payload = (0..<64).map { UInt8($0) }
        var buffer = [UInt8](repeating: 0, count: offset) + payload
        buffer.withUnsafeMutableBytes {
            WebSocketMask.apply(WebSocketMaskKey(Self.bytes), to: .init(rebasing: $0[offset...]))
        }
        #expect(Array(buffer[offset...]) == Self.masked(payload, from: 0))
        #expect(buffer[..<offset].allSatisfy { $0 == 0 })
    }

    @Test("the key's bytes are those that were given")
    func keyBytes() {
        let key = WebSocketMaskKey(Self.bytes)
        #expect((0..<4).map(key.byte) == [0x37, 0xFA, 0x21, 0x3D])
    }
}
