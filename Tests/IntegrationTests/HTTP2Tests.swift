import Curlew
import CurlewCore
import CurlewTransport
import Foundation
import Testing

@Suite("HTTP/2 at real servers", .realServers, .timeLimit(.minutes(4)))
struct HTTP2Tests {
    @Test func sixtyFourConcurrentRequestsShareConnections() async throws {
        let transport = try makeTrustingTransport()
        let url = try IntegrationEnvironment.url("NGINX_TLS", "/info")
        let answers = try await withThrowingTaskGroup(of: Exchange.self) { group in
            for _ in 0..<64 { group.addTask { try await transport.exchange(url) } }
            return try await group.reduce(into: [Exchange]()) { $0.append($1) }
        }
        #expect(answers.count == 64)
        #expect(answers.allSatisfy { $0.head.version == .http2 && $0.status == 200 })
        let connections = Set(answers.map { $0.seen("connection") }).count
        #expect((1...Capabilities.current.mostConnectionsOfABurst).contains(connections))
        #expect(answers.count { !$0.metrics.isConnectionReused } == connections)
    }

    @Test func http1IsUsedIfConfigured() async throws {
        let transport = try makeTrustingTransport { $0.httpVersion = .http1_1 }
        let answer = try await transport.exchange(IntegrationEnvironment.url("NGINX_TLS", "/info"))
        #expect(answer.head.version == .http1_1)
        #expect(answer.seen("protocol") == "HTTP/1.1")
    }

    @Test func http1IsUsedIfServerHasNoHTTP2() async throws {
        let answer = try await makeTrustingTransport().exchange(IntegrationEnvironment.url("NGINX_TLS_HTTP1", "/info"))
        #expect(answer.head.version == .http1_1)
    }

    @Test func priorKnowledgeNeedsNoTLS() async throws {
        let transport = makeTransport { $0.httpVersion = .http2PriorKnowledge }
        let url = try IntegrationEnvironment.url("NGHTTPD", "/small.txt")
        let answers = try await withThrowingTaskGroup(of: Exchange.self) { group in
            for _ in 0..<32 { group.addTask { try await transport.exchange(url) } }
            return try await group.reduce(into: [Exchange]()) { $0.append($1) }
        }
        // The number of connections is not asserted, because libcurl 7.88 cannot reuse them here.
        #expect(answers.count == 32)
        #expect(answers.allSatisfy { $0.head.version == .http2 && $0.text == "Hello from a real file.\n" })
    }

    @Test func trailersArrive() async throws {
        // nginx compresses this page, so it has no length: before 8.6 libcurl does not wait for the trailers of a body
        // that has one.
        let answer = try await makeTrustingTransport().exchange(IntegrationEnvironment.url("NGINX_TLS", "/words.json"))
        #expect(answer.head.version == .http2)
        #expect(answer.outcome.trailers["x-trailer"] == "late")
        #expect(answer.head.headers["x-trailer"] == nil)
    }

    @Test(arguments: [0, 1, 100_000, 2_000_000])
    func anUploadIsEchoed(count: Int) async throws {
        let body = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        let transport = makeTransport { $0.httpVersion = .http2PriorKnowledge }
        let answer = try await transport.exchange(
            IntegrationEnvironment.url("NGHTTPD", "/echo"),
            method: .post,
            body: .data(body)
        )
        #expect(answer.status == 200)
        #expect(answer.record.body == body)
    }

    @Test func http2IsNegotiatedWithNghttpd() async throws {
        let answer = try await makeTrustingTransport().exchange(IntegrationEnvironment.url("NGHTTPD_TLS", "/small.txt"))
        #expect(answer.head.version == .http2)
        #expect(answer.text == "Hello from a real file.\n")
    }

    @Test func cancelledStreamDoesNotCloseItsConnection() async throws {
        let transport = try makeTrustingTransport()
        let slow = try IntegrationEnvironment.url("NGINX_TLS", "/slow.txt")
        let info = try IntegrationEnvironment.url("NGINX_TLS", "/info")
        let connection = try await transport.exchange(info).seen("connection")
        #expect(try await transport.failureIfCancelledAfterHead(slow)?.code == .cancelled)
        let after = try await transport.exchange(info)
        #expect(after.seen("connection") == connection)
    }
}
