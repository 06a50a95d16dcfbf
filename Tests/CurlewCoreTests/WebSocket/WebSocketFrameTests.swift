import CurlewCore
import Testing

@Suite("WebSocket frames", .timeLimit(.minutes(4)))
struct WebSocketFrameTests {
    /// RFC 6455, 5.7.
    @Test("frames are written as in the examples of the RFC")
    func examples() {
        #expect(Frames.text("Hello") == [0x81, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F])
        #expect(
            Frames.text("Hello", masked: true)
                == [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58])
        #expect(Frames.text("Hel", final: false) == [0x01, 0x03, 0x48, 0x65, 0x6C])
        #expect(Frames.frame(.continuation, [0x6C, 0x6F]) == [0x80, 0x02, 0x6C, 0x6F])
        #expect(Frames.frame(.ping, [0x48]) == [0x89, 0x01, 0x48])
        #expect(Frames.frame(.pong, [0x48], masked: true) == [0x8A, 0x81, 0x37, 0xFA, 0x21, 0x3D, 0x7F])
        #expect(Frames.frame(.text, [1], compressed: true)[0] == 0xC1)
    }

    @Test(
        "a length is written in its shortest form",
        arguments: [
            (0, [0x82, 0]), (125, [0x82, 125]), (126, [0x82, 126, 0, 126]), (0xFFFF, [0x82, 126, 0xFF, 0xFF]),
            (0x1_0000, [0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0]),
        ] as [(Int, [UInt8])])
    func lengths(count: Int, head: [UInt8]) {
        let frame = Frames.frame(.binary, [UInt8](repeating: 9, count: count))
        #expect(Array(frame.prefix(head.count)) == head)
        #expect(frame.count == head.count + count)
        var receiver = WebSocketReceiver(sender: .server, limits: .init())
        let result = Frames.events(in: [frame], to: &receiver)
        #expect(result.events == [.message(.data(.init(repeating: 9, count: count)))])
        #expect(result.violation == nil)
    }

    /// Bytes, the expected close code, and the number of bytes after which the violation is found.
    @Test(
        "a malformed frame is refused at the first byte that shows the violation",
        arguments: [
            ([0xC1, 0x00], 1002, 1), ([0xA1, 0x00], 1002, 1), ([0x91, 0x00], 1002, 1),  // reserved bits
            ([0x83, 0x00], 1002, 1), ([0x87, 0x00], 1002, 1), ([0x8B, 0x00], 1002, 1), ([0x8F, 0x00], 1002, 1),
            ([0x09, 0x00], 1002, 1), ([0x08, 0x00], 1002, 1), ([0x0A, 0x00], 1002, 1),  // fragmented control frames
            ([0x89, 0x7E, 0x00, 0x7E], 1002, 2), ([0x88, 0x7F], 1002, 2),  // control frames too long
            ([0x81, 0x80, 0, 0, 0, 0], 1002, 2),  // a server that masks
            ([0x82, 0x7E, 0x00, 0x7D], 1002, 4), ([0x82, 0x7E, 0x00, 0x00], 1002, 4),  // lengths not shortest
            ([0x82, 0x7F, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], 1002, 10),
            ([0x82, 0x7F, 0x80, 0, 0, 0, 0, 0, 0, 0], 1002, 10),
            ([0x82, 0x7F, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], 1009, 10),
            ([0x80, 0x00], 1002, 2), ([0x00, 0x00], 1002, 2),  // no message to continue
            ([0x01, 0x00, 0x81, 0x00], 1002, 4), ([0x02, 0x00, 0x82, 0x00], 1002, 4),  // a message within another
            ([0x01, 0x00, 0x80, 0x00, 0x80, 0x00], 1002, 6),
            ([0x88, 0x01, 0x03], 1002, 3),  // half a close code
            ([0x88, 0x02, 0x03, 0xED], 1002, 4), ([0x88, 0x02, 0x03, 0xEE], 1002, 4),  // codes 1005 and 1006
            ([0x88, 0x03, 0x03, 0xE8, 0xFF], 1007, 5),
            ([0x81, 0x02, 0xC0, 0x80], 1007, 3), ([0x81, 0x01, 0xC2], 1007, 3),
            ([0x01, 0x01, 0xED, 0x80, 0x01, 0xA0], 1007, 6),
        ] as [([UInt8], UInt16, Int)])
    func refused(bytes: [UInt8], code: UInt16, after count: Int) throws {
        let failure = try #require(Frames.failure(of: bytes))
        #expect(failure.violation.closeCode.rawValue == code)
        #expect(failure.after == count)
        #expect(!failure.violation.reason.isEmpty)
    }

    @Test("a server refuses a frame that is not masked")
    func unmaskedClient() throws {
        let failure = try #require(Frames.failure(of: [0x81, 0x00], sender: .client))
        #expect(failure.violation.closeCode == .protocolError)
    }

    @Test("a frame above the limit is refused once its head is read")
    func frameLimit() throws {
        let limits = WebSocketLimits(frame: 200, message: 1000)
        #expect(Frames.failure(of: [0x82, 0x7E, 0x00, 0xC8], limits: limits) == nil)
        let failure = try #require(Frames.failure(of: [0x82, 0x7E, 0x00, 0xC9], limits: limits))
        #expect(failure.violation == WebSocketViolation(.messageTooBig, "a frame is larger than 200 bytes"))
    }

    @Test("a message above the limit is refused once the head of the frame that exceeds it is read")
    func messageLimit() throws {
        let limits = WebSocketLimits(frame: 10, message: 12)
        let whole =
            Frames.frame(.binary, [1, 2, 3, 4, 5, 6], final: false) + Frames.frame(.continuation, [1, 2, 3, 4, 5, 6])
        #expect(Frames.failure(of: whole, limits: limits) == nil)
        let first = Frames.frame(.binary, [1, 2, 3, 4, 5, 6], final: false)
        let failure = try #require(Frames.failure(of: first + [0x80, 0x07], limits: limits))
        #expect(failure.violation.closeCode == .messageTooBig)
    }

    @Test(
        "only close codes that may be sent are accepted and written",
        arguments: [
            (0, false), (999, false), (1000, true), (1003, true), (1004, false), (1005, false), (1006, false),
            (1007, true), (1011, true), (1014, true), (1015, false), (1016, false), (1100, false), (2000, false),
            (2999, false), (3000, true), (3999, true), (4000, true), (4999, true), (5000, false), (65535, false),
        ] as [(UInt16, Bool)])
    func closeCodes(code: UInt16, isValid: Bool) {
        #expect((Frames.failure(of: Frames.close(code)) == nil) == isValid)
        #expect(WebSocketClosePayload(.init(rawValue: code)).bytes.isEmpty == !isValid)
    }

    @Test("a long close reason is cut between two characters to fit a control frame")
    func longReason() {
        let bytes = WebSocketClosePayload(.normalClosure, reason: String(repeating: "€", count: 60)).bytes
        #expect(bytes.count == 2 + 41 * 3)
        #expect(Frames.failure(of: Frames.frame(.close, bytes)) == nil)
    }
}

@Suite("WebSocket mask", .timeLimit(.minutes(4)))
struct WebSocketMaskTests {
    private static let bytes: (UInt8, UInt8, UInt8, UInt8) = (0x37, 0xFA, 0x21, 0x3D)

    /// Masks byte by byte, as defined by RFC 6455, 5.3.
    private static func masked(_ payload: [UInt8], from position: Int) -> [UInt8] {
        let key = [bytes.0, bytes.1, bytes.2, bytes.3]
        return payload.enumerated().map { $1 ^ key[(position + $0) % 4] }
    }

    @Test("masking equals masking byte by byte, at every length and position", arguments: 0..<9)
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

    @Test("a mask key has the bytes that it was made from")
    func keyBytes() {
        let key = WebSocketMaskKey(Self.bytes)
        #expect((0..<4).map(key.byte) == [0x37, 0xFA, 0x21, 0x3D])
    }
}
