import CurlewCore
import CurlewTransport
import Foundation
import Testing

/// haproxy closes connections that have been idle for 100 ms: without notice over HTTP/1.1, with a GOAWAY over HTTP/2.
@Suite("A server that closes idle connections", .realServers, .timeLimit(.minutes(4)))
struct ImpatientServerTests {
    private static let servers = ["HAPROXY_IMPATIENT", "HAPROXY_TLS_IMPATIENT"]

    @Test("requests that are sent when the server closes their connection succeed", arguments: servers)
    func requestsAtTheMomentOfClosing(server: String) async throws {
        let url = try IntegrationEnvironment.url(server, "/info")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 { group.addTask { try await Self.requestsAtTheMomentOfClosing(url) } }
            try await group.waitForAll()
        }
    }

    private static func requestsAtTheMomentOfClosing(_ url: URL) async throws {
        let transport = try makeTrustingTransport()
        #expect(try await transport.exchange(url).status == 200)
        var pause = ClosingPause()
        for _ in 0..<1_000 where pause.reversals < 30 {
            try await Task.sleep(for: pause.length)
            let exchange = try await transport.exchange(url)
            #expect(exchange.status == 200 && exchange.seen("via") == "haproxy")
            pause.adapt(toReuse: exchange.metrics.isConnectionReused)
        }
        #expect(pause.reversals == 30)
        // The closed connections are not left in the pool.
        #expect(await transport.connections.totals.open <= 1)
        #expect(transport.statistics.liveTransfers == 0 && transport.statistics.easyHandlesInUse == 0)
    }

    /// A POST whose connection is cut is not repeated, so it fails if the server closes the connection at that
    /// moment.
    @Test(
        "no POST fails if connections retire before the server closes them",
        .enabled(if: Capabilities.ofLibcurl.quirks.asksBeforeSending, "libcurl does not ask before it sends"),
        arguments: servers)
    func retiredBeforeTheServerCloses(server: String) async throws {
        let url = try IntegrationEnvironment.url(server, "/info")
        let age = Duration.milliseconds(50)
        let transport = try makeTrustingTransport { $0.maximumConnectionAge = age }
        var (opened, reused) = (0, 0)
        // The connection that was opened last was open at this time.
        var wasOpen = ContinuousClock.now
        for number in 0..<1_000 where opened < 12 || reused < 12 {
            // Every third pause ends near the moment at which the server closes.
            try await Task.sleep(for: .milliseconds(number % 3 == 2 ? 90 + number % 20 : 5))
            let start = ContinuousClock.now
            let exchange = try await transport.exchange(url, method: .post, body: .data(Data("once".utf8)))
            #expect(exchange.status == 200 && exchange.seen("method") == "POST")
            if exchange.metrics.isConnectionReused {
                reused += 1
                #expect(start - wasOpen < age)
            } else {
                opened += 1
                wasOpen = .now
            }
        }
        #expect(opened >= 12 && reused >= 12)
    }
}

/// The pause before a request, which approaches the moment at which the server closes the connection: it grows while
/// connections are reused, and shrinks while they are not.
private struct ClosingPause {
    private(set) var length = Duration.milliseconds(50)
    /// The number of times that a reused connection followed a new one, or a new one a reused one.
    private(set) var reversals = 0
    private var step = Duration.milliseconds(16)
    private var wasReused = true

    mutating func adapt(toReuse isReused: Bool) {
        if isReused != wasReused {
            reversals += 1
            step = max(step / 2, .microseconds(250))
        }
        wasReused = isReused
        length = isReused ? length + step : max(.zero, length - step)
    }
}
