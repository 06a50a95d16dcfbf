import CurlewCore
import CurlewLocks
import CurlewTransport
import Foundation
import Glibc
import Testing

/// Makes frames of HTTP/2 (RFC 9113, 4.1).
enum Frame {
    static func bytes(_ kind: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []) -> [UInt8] {
        let length = payload.count
        return [UInt8(length >> 16 & 255), UInt8(length >> 8 & 255), UInt8(length & 255), kind, flags] + number(stream)
            + payload
    }

    /// Returns a head with status 200. Its fields use names of HPACK's static table and no Huffman coding.
    static func head(_ stream: UInt32, length: Int? = nil, coding: String? = nil, ends: Bool = false) -> [UInt8] {
        var block: [UInt8] = [0x88]
        if let length { block += field(28, String(length)) }
        if let coding { block += field(26, coding) }
        return bytes(1, flags: ends ? 5 : 4, stream: stream, block)
    }

    static func data(_ stream: UInt32, _ data: [UInt8], ends: Bool = false) -> [UInt8] {
        bytes(0, flags: ends ? 1 : 0, stream: stream, data)
    }

    static func reset(_ stream: UInt32, _ code: UInt32) -> [UInt8] { bytes(3, stream: stream, number(code)) }
    static func goAway(last: UInt32, _ code: UInt32 = 0) -> [UInt8] { bytes(7, number(last) + number(code)) }
    static let settings = bytes(4)
    static let settingsTaken = bytes(4, flags: 1)

    /// Used in place of a frame: the server sends the next frame only after the test has opened its gate.
    static let gate: [UInt8] = []

    static let noError: UInt32 = 0
    static let internalError: UInt32 = 2
    static let refusedStream: UInt32 = 7
    static let enhanceYourCalm: UInt32 = 11

    private static func bytes(_ kind: UInt8, _ payload: [UInt8]) -> [UInt8] {
        bytes(kind, flags: 0, stream: 0, payload)
    }

    /// Returns a literal field without indexing, with an indexed name (RFC 7541, 6.2.2).
    private static func field(_ index: UInt8, _ value: String) -> [UInt8] {
        [0x0F, index - 15, UInt8(value.utf8.count)] + Array(value.utf8)
    }

    private static func number(_ value: UInt32) -> [UInt8] {
        [UInt8(value >> 24 & 255), UInt8(value >> 16 & 255), UInt8(value >> 8 & 255), UInt8(value & 255)]
    }
}

/// A server of HTTP/2 without TLS that answers each request with the test's frames.
final class FrameServer: Sendable {
    /// Returns the frames that answer a request. `request` counts from 1, over all connections.
    typealias Answer = @Sendable (_ request: Int, _ stream: UInt32) -> [[UInt8]]

    let port: Int
    let gate = DispatchSemaphore(value: 0)
    private let listener: Int32
    private let requests = Lock(0)
    private let pings = Lock(0)
    private let connections = Lock<[Int32]>([])

    var requestCount: Int { requests.withLock { $0 } }
    /// The number of PINGs, over all connections.
    var pingCount: Int { pings.withLock { $0 } }
    var connectionCount: Int { connections.withLock { $0.count } }
    var url: URL { URL(string: "http://127.0.0.1:\(port)/x")! }

    init(_ answer: @escaping Answer) throws {
        let (listener, address) = try BlockingSocket.listen(backlog: 16)
        self.listener = listener
        port = Int(UInt16(bigEndian: address.sin_port))
        let (requests, pings, connections, gate) = (requests, pings, connections, gate)
        Thread.detachNewThread {
            while true {
                let peer = BlockingSocket.accept(listener)
                guard peer >= 0 else { break }
                connections.withLock { $0.append(peer) }
                Thread.detachNewThread { Self.serve(peer, requests, pings, gate, answer) }
            }
            _ = close(listener)
        }
    }

    /// Stops accepting connections. A connection's thread ends when the client closes the connection.
    func stop() {
        _ = shutdown(listener, Int32(SHUT_RDWR))
    }

    private static func serve(
        _ peer: Int32, _ requests: Lock<Int>, _ pings: Lock<Int>, _ gate: DispatchSemaphore, _ answer: Answer
    ) {
        defer { _ = close(peer) }
        guard take(24, from: peer) != nil, BlockingSocket.write(peer, Frame.settings) else { return }
        while let header = take(9, from: peer) {
            let length = Int(header[0]) << 16 | Int(header[1]) << 8 | Int(header[2])
            guard length == 0 || take(length, from: peer) != nil else { return }
            let stream = header[5...8].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            switch (header[3], header[4]) {
            case (4, 0):
                guard BlockingSocket.write(peer, Frame.settingsTaken) else { return }
            case (6, 0): pings.withLock { $0 += 1 }
            case (1, _):
                let number = requests.withLock { count in
                    count += 1
                    return count
                }
                for frame in answer(number, stream) {
                    if frame.isEmpty {
                        _ = gate.wait(timeout: .now() + 60)
                    } else if !BlockingSocket.write(peer, frame) {
                        return
                    }
                }
            default: break
            }
        }
    }

    private static func take(_ count: Int, from peer: Int32) -> [UInt8]? {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let more = BlockingSocket.read(peer, count - bytes.count)
            guard !more.isEmpty else { return nil }
            bytes += more
        }
        return bytes
    }
}

/// Runs `body` with a server and a transport that uses HTTP/2 without TLS.
func withFrames(
    _ answer: @escaping FrameServer.Answer, _ body: (CurlTransport, FrameServer) async throws -> Void
) async throws {
    let server = try FrameServer(answer)
    defer { server.stop() }
    try await withTransport({ $0.httpVersion = .http2PriorKnowledge }) { transport, _ in
        try await body(transport, server)
    }
}
