import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@testable import CurlewTransport

/// Runs a test with a transport and a `ByteServer`, and expects that no connection is left afterwards.
func withByteServer(
    buffer: Int32? = nil,
    _ configure: (inout TransportConfiguration) -> Void = { _ in },
    serve: @escaping @Sendable (ByteServer.Peer) -> Void,
    countingSockets: Bool = true,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: (CurlTransport, ByteServer) async throws -> Void
) async throws {
    let server = try ByteServer(buffer: buffer, serve)
    defer { server.stop() }
    var configuration = TransportConfiguration()
    configuration.proxy = .none
    configure(&configuration)
    let transport = CurlTransport(configuration: configuration)
    try await body(transport, server)
    await expectNoConnection(transport, countingSockets: countingSockets, sourceLocation)
    await transport.shutdown()
}

/// Waits until no byte connection is left: the loop closes a connection some time after its user.
///
/// Pass `countingSockets: false` if a socket may not have connected. libcurl 7.88 closes such sockets without calling
/// back (cf_socket_close in cf-socket.c).
func expectNoConnection(
    _ transport: CurlTransport, countingSockets: Bool = true, _ sourceLocation: SourceLocation = #_sourceLocation
) async {
    func isOver() -> Bool {
        let left = transport.statistics
        return left.byteConnections == 0 && left.liveTransfers == 0 && left.easyHandlesInUse == 0
            && (left.openSockets == 0 || !countingSockets)
    }
    try? await eventually(isOver)
    #expect(isOver(), "\(transport.statistics)", sourceLocation: sourceLocation)
}

extension ByteConnection {
    /// Receives `count` bytes, or fewer if the connection ends.
    func receive(exactly count: Int) async throws(CurlewError) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            guard let more = try await receive(maximum: count - bytes.count) else { break }
            bytes += more
        }
        return bytes
    }

    func failureOfReceive() async -> CurlewError? {
        do throws(CurlewError) {
            _ = try await receive(maximum: 1)
            return nil
        } catch {
            return error
        }
    }

    func failureOfSend(_ bytes: [UInt8] = [0]) async -> CurlewError? {
        do throws(CurlewError) {
            try await send(bytes)
            return nil
        } catch {
            return error
        }
    }
}

@Suite("Byte connections", .timeLimit(.minutes(4)))
struct ByteConnectionTests {
    private static let text = Array("bytes that go there and back".utf8)

    @Test(arguments: 1...28)
    func echoedBytesArriveInChunksOfAnySize(_ step: Int) async throws {
        try await withByteServer(serve: { $0.echo() }) { transport, server in
            let connection = try await transport.connect(request(server.url))
            var rest = Self.text[...]
            while !rest.isEmpty {
                try await connection.send(Array(rest.prefix(step)))
                rest = rest.dropFirst(step)
            }
            var received: [UInt8] = []
            while received.count < Self.text.count {
                let bytes = try #require(try await connection.receive(maximum: step))
                #expect(!bytes.isEmpty && bytes.count <= step)
                received += bytes
            }
            #expect(received == Self.text)
        }
    }

    @Test func largeDataIsSentAndReceivedAtOnce() async throws {
        try await withByteServer(serve: { $0.echo() }) { transport, server in
            let connection = try await transport.connect(request(server.url), sendBuffer: 10_000)
            let sent = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
            async let received = connection.receive(exactly: sent.count)
            var rest = sent[...]
            while !rest.isEmpty {
                try await connection.send(Array(rest.prefix(70_000)))
                rest = rest.dropFirst(70_000)
            }
            let isEqual = try await received == sent
            #expect(isEqual)
        }
    }

    @Test func byteConnectionSendsNothingOfTheRequest() async throws {
        let first = Lock<[UInt8]>([])
        try await withByteServer(serve: { peer in
            var bytes: [UInt8] = []
            while bytes.count < 3 {
                let more = peer.read()
                if more.isEmpty { break }
                bytes += more
            }
            let received = bytes
            first.withLock { $0 = received }
            peer.write(received)
        }) { transport, server in
            let connection = try await transport.connect(
                request(server.url, method: .post, headers: ["X-Name": "value"], body: .data(Data("body".utf8))))
            try await connection.send([1, 2, 3])
            #expect(try await connection.receive(exactly: 3) == [1, 2, 3])
        }
        #expect(first.withLock { $0 } == [1, 2, 3])
    }

    @Test func serverMaySendFirst() async throws {
        try await withByteServer(serve: { peer in
            peer.write("hello")
            peer.echo()
        }) { transport, server in
            let connection = try await transport.connect(request(server.url))
            #expect(try await connection.receive(exactly: 5) == Array("hello".utf8))
            // The exchange happens while another connection is idle, with bytes that nothing has read.
            let other = try await transport.connect(request(server.url))
            try await connection.send([1])
            #expect(try await connection.receive(exactly: 1) == [1])
            #expect(try await other.receive(exactly: 5) == Array("hello".utf8))
        }
    }

    @Test func endIsReportedByEveryLaterReceive() async throws {
        try await withByteServer(serve: { $0.write("last") }) { transport, server in
            let connection = try await transport.connect(request(server.url))
            #expect(try await connection.receive(exactly: 4) == Array("last".utf8))
            #expect(try await connection.receive(maximum: 1) == nil)
            #expect(try await connection.receive(maximum: 1) == nil)
        }
    }

    @Test func aResetIsAnError() async throws {
        try await withByteServer(serve: { peer in
            _ = peer.read(1)
            peer.resetsAtEnd()
        }) { transport, server in
            let connection = try await transport.connect(request(server.url))
            try await connection.send([1])
            let error = await connection.failureOfReceive()
            #expect(error?.code == .receiveFailed)
            #expect(error?.url == server.url)
            #expect(error?.native != nil)
        }
    }

    /// The kernel reports a reset once. After a write has received it, a read sees an ordinary end.
    @Test(arguments: [true, false])
    func resetSeenByWriteIsAnErrorForRead(atOnce: Bool) async throws {
        try await withByteServer(serve: { peer in
            _ = peer.read(1)
            peer.resetsAtEnd()
        }) { transport, server in
            let connection = try await transport.connect(request(server.url), sendBuffer: 0)
            try await connection.send([1])
            if atOnce {
                try await eventually { ([2] as [UInt8]).withUnsafeBytes { connection.sendNow($0) } == 0 }
            } else {
                while await connection.failureOfSend() == nil {}
            }
            #expect(await connection.failureOfReceive()?.code == .sendFailed)
        }
    }

    @Test func oneDirectionOfConnectionMayEnd() async throws {
        try await withByteServer(serve: { peer in
            var all: [UInt8] = []
            while true {
                let bytes = peer.read()
                if bytes.isEmpty { break }
                all += bytes
            }
            peer.write(Array(all.reversed()))
        }) { transport, server in
            let connection = try await transport.connect(request(server.url))
            try await connection.send([1, 2, 3])
            try await connection.finishSending()
            #expect(try await connection.receive(exactly: 3) == [3, 2, 1])
            #expect(try await connection.receive(maximum: 1) == nil)
            let error = await connection.failureOfSend()
            #expect(error?.code == .sendFailed)
        }
    }

    @Test func concurrentReadersReceiveAllBytes() async throws {
        try await withByteServer(serve: { $0.echo() }) { transport, server in
            let connection = try await transport.connect(request(server.url))
            try await withThrowingTaskGroup(of: [UInt8]?.self) { group in
                for _ in 0..<10 { group.addTask { try await connection.receive(maximum: 1) } }
                try await connection.send(Array(0..<10))
                var all: [UInt8] = []
                for try await bytes in group { all += bytes ?? [] }
                #expect(all.sorted() == Array(0..<10))
            }
        }
    }

    @Test func metricsDescribeTheConnection() async throws {
        try await withByteServer(serve: { $0.echo() }) { transport, server in
            let metrics = try await transport.connect(request(server.url)).metrics
            #expect(metrics.remoteAddress == "127.0.0.1:\(server.port)")
            #expect(metrics.connected != nil)
            #expect(!metrics.isConnectionReused)
            #expect(metrics.requestSent == nil)
        }
    }

    @Test func exchangesWorkBesideByteConnections() async throws {
        try await withTransport { transport, server in
            let connection = try await transport.connect(request(server.url("/get")))
            for _ in 0..<5 {
                let answer = try await transport.fetch(request(server.url("/get")))
                #expect(answer.status == 200)
            }
            try await connection.send(Array("GET /status/204 HTTP/1.1\r\nHost: x\r\n\r\n".utf8))
            let start = try await connection.receive(exactly: 12)
            #expect(String(decoding: start, as: UTF8.self) == "HTTP/1.1 204")
        }
    }

    // MARK: Proxies and failed connections

    @Test func refusedByteConnectionFailsLikeExchange() async throws {
        let refusing = try DeadEnd(.refusing)
        let transport = CurlTransport()
        let error = await #expect(throws: CurlewError.self) {
            _ = try await transport.connect(request(refusing.url))
        }
        #expect(error?.code == .connectFailed)
        #expect(error?.metrics != nil)
        await expectNoConnection(transport)
        await transport.shutdown()
    }

    @Test func addressPoliciesApply() async throws {
        try await withByteServer({ $0.addressPolicy = .publicOnly }, serve: { $0.echo() }) { transport, server in
            let error = await #expect(throws: CurlewError.self) {
                _ = try await transport.connect(request(server.url))
            }
            #expect(error?.code == .addressRefused)
        }
    }

    @Test func byteConnectionTunnelsThroughHTTPProxy() async throws {
        let head = Lock("")
        try await withByteServer(serve: { peer in
            let asked = peer.readHead()
            head.withLock { $0 = asked }
            peer.write("HTTP/1.1 200 Connection established\r\n\r\n")
            peer.echo()
        }) { transport, proxy in
            let url = try #require(URL(string: "http://far.example:81/chat"))
            let connection = try await transport.connect(
                request(url, headers: ["Authorization": "secret"]) {
                    $0.options.proxy = .url(proxy.url, username: nil, password: nil)
                })
            try await connection.send(Self.text)
            #expect(try await connection.receive(exactly: Self.text.count) == Self.text)
        }
        #expect(head.withLock { $0 }.hasPrefix("CONNECT far.example:81 HTTP/1.1\r\n"))
        #expect(!head.withLock { $0 }.contains("secret"))
    }

    @Test func refusalByProxyIsProxyFailed() async throws {
        try await withByteServer(serve: { peer in
            _ = peer.readHead()
            peer.write("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
        }) { transport, proxy in
            let url = try #require(URL(string: "http://far.example:81/chat"))
            let error = await #expect(throws: CurlewError.self) {
                _ = try await transport.connect(
                    request(url) { $0.options.proxy = .url(proxy.url, username: nil, password: nil) })
            }
            #expect(error?.code == .proxyFailed)
            #expect(error?.responseCode == 403)
        }
    }

    @Test func byteConnectionWorksThroughSOCKSProxy() async throws {
        try await withByteServer(serve: { peer in
            let methods = peer.read(exactly: 2)
            _ = peer.read(exactly: Int(methods.last ?? 0))
            peer.write([5, 0])
            let start = peer.read(exactly: 5)
            _ = peer.read(exactly: Int(start.last ?? 0) + 2)
            peer.write([5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
            peer.echo()
        }) { transport, proxy in
            let url = try #require(URL(string: "http://far.example/"))
            let way = try #require(URL(string: "socks5h://127.0.0.1:\(proxy.port)"))
            let connection = try await transport.connect(
                request(url) { $0.options.proxy = .url(way, username: nil, password: nil) })
            try await connection.send(Self.text)
            #expect(try await connection.receive(exactly: Self.text.count) == Self.text)
        }
    }
}
