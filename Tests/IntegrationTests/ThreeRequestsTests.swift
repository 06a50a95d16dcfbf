import CurlewCore
import CurlewTransport
import Foundation
import Testing

/// nginx with `keepalive_requests 3`: the third response on a connection has `Connection: close`, or over HTTP/2 is
/// sent with a GOAWAY.
@Suite("A server that ends connections after three requests", .realServers, .timeLimit(.minutes(4)))
struct ThreeRequestsTests {
    private static let servers = ["NGINX_THREE_REQUESTS", "NGINX_TLS_THREE_REQUESTS"]

    @Test("twenty requests in a row succeed, and each connection carries at most three", arguments: servers)
    func inARow(server: String) async throws {
        try await expectThreeEach(on: makeTrustingTransport(), server)
    }

    /// Client and server retire the connection at the same request.
    @Test(
        "twenty requests in a row succeed if the client has the same limit",
        .enabled(if: Capabilities.ofLibcurl.quirks.asksBeforeSending, "libcurl does not ask before it sends"),
        arguments: servers)
    func sameLimit(server: String) async throws {
        try await expectThreeEach(on: makeTrustingTransport { $0.maximumRequestsPerConnection = 3 }, server)
    }

    /// Every other request is a POST, which is not repeated if its connection is cut.
    private func expectThreeEach(on transport: CurlTransport, _ server: String) async throws {
        let url = try IntegrationEnvironment.url(server, "/info")
        var requests: [String: Int] = [:]
        for number in 0..<20 {
            let isGet = number % 2 == 0
            let exchange = try await transport.exchange(
                url, method: isGet ? .get : .post, body: isGet ? .none : .data(Data("once".utf8)))
            #expect(exchange.status == 200 && exchange.seen("method") == (isGet ? "GET" : "POST"))
            #expect(exchange.head.version == (server == "NGINX_THREE_REQUESTS" ? .http1_1 : .http2))
            #expect(exchange.metrics.isConnectionReused == (number % 3 != 0))
            requests[try #require(exchange.seen("connection")), default: 0] += 1
        }
        #expect(requests.values.sorted() == [2, 3, 3, 3, 3, 3, 3])
        // The connections that have reached the limit close.
        while await transport.connections.totals.open > 1 { try await Task.sleep(for: .milliseconds(2)) }
        #expect(transport.statistics.liveTransfers == 0 && transport.statistics.easyHandlesInUse == 0)
    }

    /// This server speaks HTTP/1. Over HTTP/2 a connection would refuse all but its first three requests with a GOAWAY,
    /// and libcurl 7.88 sometimes loses a response of the first three. `HTTP2EndingTests` covers requests above a GOAWAY.
    @Test(
        "many concurrent requests succeed, whether or not they may be repeated",
        arguments: [[HTTPMethod.post], [.get, .post]])
    func atOnce(methods: [HTTPMethod]) async throws {
        let url = try IntegrationEnvironment.url("NGINX_THREE_REQUESTS", "/info")
        let transport = makeTransport { $0.maximumConnectionsPerHost = 4 }
        let count = 200
        let requests = try await withThrowingTaskGroup(of: String?.self) { group in
            for number in 0..<count {
                let method = methods[number % methods.count]
                let body = method == .post ? BodySource.data(Data("once".utf8)) : .none
                group.addTask {
                    try await transport.exchange(url, method: method, body: body).seen("connection")
                }
            }
            return try await group.reduce(into: [String: Int]()) { $0[$1 ?? "none", default: 0] += 1 }
        }
        #expect(requests["none"] == nil && requests.values.reduce(0, +) == count)
        #expect(requests.values.allSatisfy { $0 <= 3 })
        #expect(transport.statistics.liveTransfers == 0)
    }
}
