import CurlewCore
import CurlewTransport
import Foundation
import Testing

@Suite("HTTP/1.1 at nginx", .realServers, .timeLimit(.minutes(4)))
struct PlainHTTPTests {
    @Test func getReturnsStatusHeadersAndBody() async throws {
        let transport = makeTransport()
        let answer = try await transport.exchange(IntegrationEnvironment.url("NGINX", "/small.txt"))
        #expect(answer.status == 200)
        #expect(answer.text == "Hello from a real file.\n")
        #expect(answer.head.version == .http1_1)
        #expect(answer.head.headers["content-type"] == "text/plain")
        #expect(answer.head.headers["Server"]?.hasPrefix("nginx") == true)
        #expect(answer.metrics.decodedBytesReceived == 24)
        #expect(answer.metrics.remoteAddress?.hasPrefix("127.0.0.1:") == true)
    }

    @Test func aHeadHasTheHeadersAndNoBody() async throws {
        let answer = try await makeTransport().exchange(
            IntegrationEnvironment.url("NGINX", "/small.txt"),
            method: .head
        )
        #expect(answer.status == 200)
        #expect(answer.head.headers["Content-Length"] == "24")
        #expect(answer.record.body.isEmpty)
    }

    @Test(arguments: [404, 500, 503])
    func errorStatusIsAResponseAndNoError(status: Int) async throws {
        let answer = try await makeTransport().exchange(IntegrationEnvironment.url("NGINX", "/status/\(status)"))
        #expect(answer.status == status)
        #expect(!answer.record.body.isEmpty)
    }

    @Test func transportDoesNotFollowRedirects() async throws {
        let answer = try await makeTransport().exchange(IntegrationEnvironment.url("NGINX", "/redirect"))
        #expect(answer.status == 302)
        #expect(answer.head.headers["Location"]?.hasSuffix("/small") == true)
    }

    @Test func gzipBodyIsDecoded() async throws {
        let url = try IntegrationEnvironment.url("NGINX", "/words.json")
        let answer = try await makeTransport().exchange(url)
        #expect(answer.head.headers["Content-Encoding"] == "gzip")
        #expect(answer.text.hasPrefix("{\"words\": [\"word 0\""))
        #expect(answer.text.hasSuffix("\"word 4999\"]}"))
        #expect(answer.metrics.bytesReceived < answer.metrics.decodedBytesReceived)
        #expect(answer.outcome.trailers["X-Trailer"] == "late")
    }

    @Test func gzipIsNotRequestedWithoutDecoding() async throws {
        var options = TransferOptions()
        options.decodesContent = false
        let url = try IntegrationEnvironment.url("NGINX", "/words.json")
        let answer = try await makeTransport().exchange(url, options: options)
        #expect(answer.head.headers["Content-Encoding"] == nil)
        #expect(answer.text.hasPrefix("{\"words\""))
    }

    @Test func sequentialRequestsShareAConnection() async throws {
        let transport = makeTransport()
        let url = try IntegrationEnvironment.url("NGINX", "/info")
        let first = try await transport.exchange(url)
        let second = try await transport.exchange(url)
        #expect(!first.metrics.isConnectionReused)
        #expect(second.metrics.isConnectionReused)
        #expect(first.seen("connection") == second.seen("connection"))
        #expect(second.seen("requests") == "2")
    }

    @Test func connectionsToOneHostStayWithinTheLimit() async throws {
        let transport = makeTransport { $0.maximumConnectionsPerHost = 3 }
        let url = try IntegrationEnvironment.url("NGINX", "/info")
        let connections = try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<60 { group.addTask { try await transport.exchange(url).seen("connection") } }
            return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
        }
        #expect(connections.count <= 3)
        #expect(!connections.contains(nil))
    }

    @Test func aRequestAfterTheServerClosedAnIdleConnectionSucceeds() async throws {
        let transport = makeTransport()
        let url = try IntegrationEnvironment.url("NGINX_IDLE", "/info")
        let first = try await transport.exchange(url)
        #expect(first.status == 200)
        // nginx closes an idle connection after a quarter of a second, on a busy machine later. Either the transport
        // sees the close at once, or libcurl sees it at the next request. In both cases every request must succeed.
        for _ in 0..<30 {
            try await Task.sleep(for: .milliseconds(600))
            let next = try await transport.exchange(url)
            #expect(next.status == 200)
            if next.seen("connection") != first.seen("connection") { return }
        }
        Issue.record("the server closes nothing")
    }

    @Test func emptyReplyIsReceiveFailedAndTransportStaysUsable() async throws {
        let transport = makeTransport()
        let close = try IntegrationEnvironment.url("NGINX", "/close")
        let error = await transport.failure(close)
        #expect(error?.code == .receiveFailed)
        #expect(error?.native != nil)
        #expect(try await transport.exchange(IntegrationEnvironment.url("NGINX", "/small")).status == 200)
    }

    @Test func aClosedPortIsConnectFailed() async throws {
        let url = try IntegrationEnvironment.url("CLOSED")
        let error = await makeTransport().failure(url)
        #expect(error?.code == .connectFailed)
        #expect(error?.isConnectivity == true)
        #expect(error?.isSafeToRetry == true)
    }

    @Test func requestWorksOverUnixSocket() async throws {
        let path = try IntegrationEnvironment.text("NGINX_UNIX_SOCKET")
        let transport = makeTransport { $0.unixSocketPath = path }
        let url = try #require(URL(string: "http://localhost/info"))
        let answer = try await transport.exchange(url)
        #expect(answer.status == 200)
        #expect(answer.seen("method") == "GET")
    }
}
