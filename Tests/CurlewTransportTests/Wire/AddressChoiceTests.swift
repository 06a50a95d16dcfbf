import CurlewCore
import CurlewTesting
import CurlewTransport
import Foundation
import Glibc
import Testing

/// The local address of connections, and the choice among a host's addresses.
@Suite("Choice of addresses", .timeLimit(.minutes(4)))
struct AddressChoiceTests {
    /// Passes a URL whose host has an IPv6 address that accepts no connection, and an IPv4 address with the server.
    private func withDeafIPv6(
        delay: Duration,
        _ body: (CurlTransport, URL) async throws -> Void
    ) async throws {
        try await withTransport({
            $0.dns.overrides = ["both.test": ["::1", "127.0.0.1"]]
            $0.dns.happyEyeballsDelay = delay
        }) { transport, server in
            // Without IPv6 there is nothing to wait for.
            guard let deaf = try? DeafListener(ipv6Port: server.port) else { return }
            defer { deaf.close() }
            try await body(transport, try #require(URL(string: "http://both.test:\(server.port)/get")))
        }
    }

    @Test func otherAddressFamilyIsTriedAfterDelay() async throws {
        try await withDeafIPv6(delay: .milliseconds(20)) { transport, url in
            let answer = try await transport.fetch(request(url) { $0.options.timeouts.connect = .seconds(50) })
            #expect(answer.status == 200)
            #expect(answer.outcome.metrics.remoteAddress?.hasPrefix("127.0.0.1:") == true)
        }
    }

    @Test func otherAddressFamilyIsNotTriedBeforeDelay() async throws {
        try await withDeafIPv6(delay: .seconds(40)) { transport, url in
            let error = await transport.failure(request(url) { $0.options.timeouts.connect = .milliseconds(500) })
            #expect(error.code == .connectTimedOut, "\(error)")
        }
    }

    @Test func anInterfaceIsChosenByName() async throws {
        try await withTransport({ $0.interface = "lo" }) { transport, server in
            let answer = try await transport.fetch(request(server.url("/get")))
            #expect(answer.status == 200)
            #expect(answer.outcome.metrics.localAddress?.hasPrefix("127.0.0.1:") == true)
        }
        try await withTransport({ $0.interface = "nowhere7" }) { transport, server in
            let error = await transport.failure(request(server.url("/get")))
            #expect(error.code == .connectFailed, "\(error)")
            #expect(error.native?.number == 45)
            #expect(server.connectionCount == 0)
        }
    }

    @Test func anInterfaceWithAnAddressNeedsALaterLibcurl() async throws {
        try await withTransport({
            $0.interface = "lo"
            $0.localAddress = "127.0.0.3"
        }) { transport, server in
            guard Capabilities.ofLibcurl.quirks.bindsInterfaceWithAddress else {
                let error = await transport.failure(request(server.url("/get")))
                #expect(error.code == .unsupported)
                return
            }
            let answer = try await transport.fetch(request(server.url("/get")))
            #expect(answer.outcome.metrics.localAddress?.hasPrefix("127.0.0.3:") == true)
        }
    }
}
