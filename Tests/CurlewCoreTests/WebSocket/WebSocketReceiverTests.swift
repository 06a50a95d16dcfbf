internal import CurlewCore
internal import Foundation
internal import Testing

@Suite("WebSocket receiver", .timeLimit(.minutes(4)))
struct WebSocketReceiverTests {
    @Test("messages and control frames are received equally wherever the stream is split", arguments: [false, true])
    func everySplit(masked: Bool) {
        let stream =
            Frames.text("hé", masked: masked) + Frames.frame(.ping, [1, 2], masked: masked)
            + Frames.frame(.text, Array("ä€".utf8.prefix(3)), final: false, masked: masked)
            + Frames.frame(.pong, [3], masked: masked) + Frames.frame(.continuation, [], final: false, masked: masked)
            + Frames.frame(.continuation, Array("ä€".utf8.dropFirst(3)), masked: masked)
            + Frames.frame(.binary, [UInt8](repeating: 7, count: 126), masked: masked)
            + Frames.frame(.text, masked: masked) + Frames.frame(.close, [0x03, 0xE9] + "bye".utf8, masked: masked)
        let expected: [WebSocketEvent] = [
            .message(.text("hé")), .ping([1, 2]), .pong([3]), .message(.text("ä€")),
            .message(.data(Data(repeating: 7, count: 126))), .message(.text("")), .close(.goingAway, reason: "bye"),
        ]
        for first in 0...stream.count {
            for second in stride(from: first, through: stream.count, by: 1 + (first % 3)) {
                var receiver = WebSocketReceiver(sender: masked ? .client : .server, limits: .init())
                let pieces = [stream[..<first], stream[first..<second], stream[second...]]
                let result = Frames.events(in: pieces, to: &receiver)
                #expect(result.events == expected && result.violation == nil, "cut at \(first) and \(second)")
            }
        }
    }

    @Test("bytes after a close frame are ignored")
    func afterClose() {
        var receiver = WebSocketReceiver(sender: .server, limits: .init())
        let result = Frames.events(in: [Frames.frame(.close), Frames.text("x"), [0xFF]], to: &receiver)
        #expect(result.events == [.close(nil, reason: "")])
        #expect(result.violation == nil)
    }

    @Test("the receiver leaves the bytes after a message to its caller")
    func pull() throws {
        var receiver = WebSocketReceiver(sender: .server, limits: .init())
        let bytes = Frames.text("a") + Frames.text("b")
        try bytes.withUnsafeBytes { buffer in
            var input = buffer
            let first = try receiver.next(&input)
            #expect(first == .message(.text("a")))
            #expect(input.count == 3)
            let rest = try [receiver.next(&input), receiver.next(&input)]
            #expect(rest == [.message(.text("b")), nil])
        }
    }

    @Test("a client masks its frames, and a server does not", arguments: [WebSocketRole.client, .server])
    func roles(role: WebSocketRole) {
        var sender = WebSocketSender(role: role)
        var bytes: [UInt8] = []
        let payload = Array("Hello".utf8)
        payload.withUnsafeBytes { sender.append(.text, $0, key: Frames.key, to: &bytes) }
        #expect(bytes == Frames.text("Hello", masked: role == .client))
        var receiver = WebSocketReceiver(sender: role, limits: .init())
        #expect(Frames.events(in: [bytes], to: &receiver).events == [.message(.text("Hello"))])
    }

    // MARK: Compression

    /// A simple compression: a byte n means n letters x. Decompression adds a full stop at the end of a message.
    private final class RunLength: WebSocketCompressor, WebSocketDecompressor {
        func compress(_ message: UnsafeRawBufferPointer, into output: inout [UInt8]) -> Bool {
            guard message.allSatisfy({ $0 == UInt8(ascii: "x") }), message.count < 256 else { return false }
            output.append(UInt8(message.count))
            return true
        }

        func decompress(
            _ bytes: UnsafeRawBufferPointer, into output: inout [UInt8], limit: Int
        ) throws(WebSocketViolation) {
            for byte in bytes {
                guard output.count + Int(byte) <= limit else { throw WebSocketViolation(.messageTooBig, "bomb") }
                output += [UInt8](repeating: UInt8(ascii: "x"), count: Int(byte))
            }
        }

        func finishMessage(into output: inout [UInt8], limit: Int) throws(WebSocketViolation) {
            output.append(UInt8(ascii: "."))
        }
    }

    @Test(
        "a compressed message is decompressed fragment by fragment, and a plain one is left unchanged",
        arguments: [false, true])
    func compressed(masked: Bool) {
        let stream =
            Frames.frame(.text, [1, 2], final: false, compressed: true, masked: masked)
            + Frames.frame(.ping, masked: masked) + Frames.frame(.continuation, [3], masked: masked)
            + Frames.text("plain", masked: masked)
        for cut in 0...stream.count {
            var receiver = WebSocketReceiver(
                sender: masked ? .client : .server, limits: .init(), decompressor: RunLength())
            let result = Frames.events(in: [stream[..<cut], stream[cut...]], to: &receiver)
            #expect(result.events == [.ping([]), .message(.text("xxxxxx.")), .message(.text("plain"))])
        }
    }

    @Test("a message above the limit after decompression is refused")
    func bomb() {
        var receiver = WebSocketReceiver(
            sender: .server, limits: .init(frame: 100, message: 300), decompressor: RunLength())
        let result = Frames.events(in: [Frames.frame(.binary, [200, 200], compressed: true)], to: &receiver)
        #expect(result.violation?.closeCode == .messageTooBig)
    }

    @Test(
        "a compression bit on a continuation or control frame is refused",
        arguments: [0xC0, 0xC8, 0xC9, 0xCA] as [UInt8])
    func wrongMark(first: UInt8) {
        var receiver = WebSocketReceiver(sender: .server, limits: .init(), decompressor: RunLength())
        #expect(Frames.events(in: [[first]], to: &receiver).violation?.closeCode == .protocolError)
    }

    @Test("a sender marks only compressed messages, and does not compress control frames")
    func compressing() {
        var sender = WebSocketSender(role: .server, compressor: RunLength())
        var bytes: [UInt8] = []
        for (opcode, text) in [(.text, "xxx"), (.text, "no"), (.ping, "xxx")] as [(WebSocketOpcode, String)] {
            Array(text.utf8).withUnsafeBytes { sender.append(opcode, $0, key: Frames.key, to: &bytes) }
        }
        #expect(
            bytes == Frames.frame(.text, [3], compressed: true) + Frames.text("no")
                + Frames.frame(.ping, Array("xxx".utf8)))
    }

    @Test("without a limit, a message length that overflows is still refused")
    func noLimit() {
        let limits = WebSocketLimits(message: .max)
        let endless: [UInt8] = [0x80, 127, 0x7F] + [UInt8](repeating: 0xFF, count: 7)
        let failure = Frames.failure(of: Frames.text("a", final: false) + endless, limits: limits)
        #expect(failure?.violation.closeCode == .messageTooBig)
        #expect(Frames.failure(of: Frames.text("a"), limits: WebSocketLimits(message: -1000)) != nil)
    }
}
