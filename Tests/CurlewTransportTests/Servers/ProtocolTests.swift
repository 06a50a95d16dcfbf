import CurlewCore
import CurlewLocks
import CurlewTransport
import Foundation
import Testing

@Suite("Protocols", .enabled(if: RealServers.areUp), .timeLimit(.minutes(4)))
struct ProtocolTests {
    @Test func http2IsNegotiatedAndSharedByAll() async throws {
        try await withSecureTransport { transport in
            let url = try RealServers.url("NGINX_TLS", "/small")
            try await withThrowingTaskGroup(of: TransferOutcome.self) { group in
                for _ in 0..<64 { group.addTask { try await transport.fetch(request(url)).outcome } }
                var connections = 0
                for try await outcome in group {
                    #expect(outcome.head.version == .http2)
                    connections += outcome.metrics.isConnectionReused ? 0 : 1
                }
                // With some versions of libcurl, requests do not wait for a connection that is being made
                // (`RequestPlan.planProtocol`).
                let most = Capabilities.ofLibcurl.quirks.waitsForOthersResponses ? 6 : 1
                #expect((1...most).contains(connections))
            }
        }
    }

    @Test func http1IsUsedOnRequestOrWithoutMultiplexing() async throws {
        try await withSecureTransport({ $0.httpVersion = .http1_1 }) { transport in
            let answer = try await transport.fetch(request(try RealServers.url("NGINX_TLS", "/small")))
            #expect(answer.outcome.head.version == .http1_1)
        }
        try await withSecureTransport { transport in
            let answer = try await transport.fetch(
                request(try RealServers.url("NGINX_TLS", "/small")) { $0.options.multiplexes = false })
            #expect(answer.outcome.head.version == .http1_1)
        }
    }

    @Test func priorKnowledgeUsesHTTP2WithoutTLS() async throws {
        try await withSecureTransport({ $0.httpVersion = .http2PriorKnowledge }) { transport in
            let answer = try await transport.fetch(request(try RealServers.url("NGHTTPD", "/small.txt")))
            #expect(answer.outcome.head.version == .http2)
            #expect(answer.outcome.metrics.httpVersion == .http2)
        }
    }

    @Test func uploadAndCancellationWorkOverHTTP2() async throws {
        try await withSecureTransport { transport in
            let url = try RealServers.url("NGINX_TLS", "/sink")
            let answer = try await transport.fetch(request(url, method: .post, body: .data(Data(count: 3_000_000))))
            #expect(answer.text == "taken\n")
            let slow = try RealServers.url("NGINX_TLS", "/slow.txt")
            let sink = CollectingSink()
            let task = Task { await transport.failure(request(slow), sink) }
            while sink.head == nil { try await Task.sleep(for: .milliseconds(2)) }
            task.cancel()
            #expect(await task.value.code == .cancelled)
            // The connection survives a cancelled stream.
            let last = try await transport.fetch(request(try RealServers.url("NGINX_TLS", "/small")))
            #expect(last.outcome.metrics.isConnectionReused)
        }
    }

    @Test func http3IsUnsupportedIfLibcurlLacksIt() async throws {
        guard !Capabilities.ofLibcurl.features.contains("HTTP3") else { return }
        try await withSecureTransport({ $0.httpVersion = .http3 }) { transport in
            let error = await transport.failure(request(try RealServers.url("NGINX_TLS", "/small")))
            #expect(error.code == .unsupported)
            #expect(error.reason.contains("HTTP/3"))
        }
    }

    @Test func requestWorksOverUnixSocket() async throws {
        let path = try RealServers.file("NGINX_UNIX_SOCKET").path(percentEncoded: false)
        try await withSecureTransport({ $0.unixSocketPath = path }) { transport in
            let answer = try await transport.fetch(request(URL(string: "http://any.host/small")!))
            #expect(answer.status == 200)
        }
    }

    @Test func dnsOverridesAreUsed() async throws {
        let port = try #require(try RealServers.url("NGINX").port)
        for key in ["curlew.test", "curlew.test:\(port)"] {
            try await withSecureTransport({ $0.dns.overrides = [key: ["127.0.0.1"]] }) { transport in
                let answer = try await transport.fetch(request(URL(string: "http://curlew.test:\(port)/small")!))
                #expect(answer.status == 200)
            }
        }
    }

    @Test func connectToKeepsTheNameForTLS() async throws {
        let port = try #require(try RealServers.url("NGINX_TLS").port)
        try await withSecureTransport({ $0.tls.connectTo = ["localhost:1": "127.0.0.1:\(port)"] }) { transport in
            let answer = try await transport.fetch(request(URL(string: "https://localhost:1/small")!))
            #expect(answer.status == 200)
        }
    }

    @Test func requestsWorkThroughProxies() async throws {
        let info = "/info"
        try await withSecureTransport({ $0.proxy = .url(try RealServers.url("PROXY")) }) { transport in
            let plain = try await transport.fetch(request(try RealServers.url("NGINX", info)))
            #expect(!plain.text.contains("via=direct"))
            let tunnelled = try await transport.fetch(request(try RealServers.url("NGINX_TLS", info)))
            #expect(tunnelled.status == 200)
        }
        let (user, password) = (RealServers.addresses["PROXY_USER"], RealServers.addresses["PROXY_PASSWORD"])
        try await withSecureTransport({
            $0.proxy = .url(try RealServers.url("PROXY_WITH_PASSWORD"), username: user, password: password)
        }) { transport in
            for server in ["NGINX", "NGINX_TLS"] {
                let answer = try await transport.fetch(request(try RealServers.url(server, info)))
                #expect(answer.status == 200, "\(server)")
            }
        }
        try await withSecureTransport({ $0.proxy = .url(try RealServers.url("PROXY_WITH_PASSWORD")) }) { transport in
            let error = await transport.failure(request(try RealServers.url("NGINX_TLS", info), method: .post))
            #expect(error.code == .proxyFailed, "\(error)")
            #expect(error.responseCode == 407)
            #expect(error.isSafeToRetry)
        }
        let (socksUser, socksPassword) = (RealServers.addresses["SOCKS_USER"], RealServers.addresses["SOCKS_PASSWORD"])
        for (name, user, password) in [("SOCKS", nil, nil), ("SOCKS_WITH_PASSWORD", socksUser, socksPassword)] {
            try await withSecureTransport({
                $0.proxy = .url(try RealServers.url(name), username: user, password: password)
            }) {
                let answer = try await $0.fetch(request(try RealServers.url("NGINX_TLS", info)))
                #expect(answer.status == 200)
            }
        }
        try await withSecureTransport({
            $0.proxy = .url(try RealServers.url("CLOSED"), exclusions: ["localhost", "127.0.0.1"])
        }) { transport in
            let answer = try await transport.fetch(request(try RealServers.url("NGINX", info)))
            #expect(answer.text.contains("via=direct"))
        }
        try await withSecureTransport({ $0.proxy = .url(try RealServers.url("CLOSED")) }) { transport in
            let error = await transport.failure(request(try RealServers.url("NGINX", info)))
            #expect(error.code == .proxyFailed)
        }
    }

    @Test func aConnectionThatTheServerClosedWhileIdleIsReplaced() async throws {
        try await withSecureTransport { transport in
            let url = try RealServers.url("NGINX_IDLE", "/small")
            // The server closes an idle connection after 250 ms, or later on a busy machine.
            for _ in 0..<30 where transport.statistics.connectionsMade < 3 {
                _ = try await transport.fetch(request(url, method: .post))
                try await Task.sleep(for: .milliseconds(400))
            }
            #expect(transport.statistics.connectionsMade == 3)
        }
    }
}
