import CurlewCore
import CurlewTesting
import CurlewTransport
import Foundation
import Testing

/// Hosts with several addresses of one family, of which the first accept no connection.
@Suite("Fallback to further addresses of a family", .timeLimit(.minutes(4)))
struct AddressFallbackTimingTests {
    @Test func secondAddressIsTriedIfFirstDoesNotAnswer() async throws {
        let clock = Duration.seconds(8).asTestBound
        // libcurl gives the first address half of the time.
        let bound = clock * 3 / 4
        // Each measurement needs another transport, which has no connection to reuse.
        let time = try await fastestOfThree(below: bound) {
            try await withTransport({ $0.dns.overrides = ["two.test": ["127.0.0.2", "127.0.0.1"]] }) {
                transport, server in
                let deaf = try DeafListener(address: "127.0.0.2", port: server.port)
                defer { deaf.close() }
                let url = try #require(URL(string: "http://two.test:\(server.port)/get"))
                return try await elapsed {
                    let answer = try await transport.fetch(request(url) { $0.options.timeouts.connect = clock })
                    #expect(answer.outcome.metrics.remoteAddress?.hasPrefix("127.0.0.1:") == true)
                }
            }
        }
        #expect(time < bound)
    }

    @Test func addressAfterRefusingOnesIsReachedAtOnce() async throws {
        let bound = Duration.seconds(1).asTestBound
        let time = try await fastestOfThree(below: bound) {
            try await withTransport({ $0.dns.overrides = ["three.test": ["127.0.0.2", "127.0.0.3", "127.0.0.1"]] }) {
                transport, server in
                let url = try #require(URL(string: "http://three.test:\(server.port)/get"))
                return try await elapsed {
                    let answer = try await transport.fetch(
                        request(url) { $0.options.timeouts.connect = Duration.seconds(10).asTestBound })
                    #expect(answer.outcome.metrics.remoteAddress?.hasPrefix("127.0.0.1:") == true)
                }
            }
        }
        #expect(time < bound)
    }

    @Test func connectTimeoutSpansAllAddresses() async throws {
        try await withTransport({ $0.dns.overrides = ["deaf.test": ["127.0.0.2", "127.0.0.3"]] }) { transport, server in
            let deaf = try DeafListener(address: "127.0.0.2", port: server.port)
            let other = try DeafListener(address: "127.0.0.3", port: server.port)
            defer {
                deaf.close()
                other.close()
            }
            let url = try #require(URL(string: "http://deaf.test:\(server.port)/get"))
            let error = await transport.failure(
                request(url) { $0.options.timeouts.connect = Duration.milliseconds(700).asTestBound })
            #expect(error.code == .connectTimedOut, "\(error)")
        }
    }
}
