import CurlewCore
import CurlewTesting
import CurlewTransport
import Foundation
import Testing

/// Changes and additions that libcurl makes unless it is told not to.
@Suite("Requests sent unchanged", .timeLimit(.minutes(4)))
struct SentAsWrittenTests {
    /// Paths with dot segments, mixed with paths that libcurl gets as parts of a URL.
    private static let paths = [
        "/a", "/a/../b", "/a/b?c", "/a/b?d", "/a/./b/..", "/../../x?y=/../z", "/a/%2e%2E/b", "/a?d", "/..", "/.",
        "/../a?d",
        "/last",
    ]

    @Test func keptDotSegmentsAreSentInPath() async throws {
        try await withTransport({ $0.keepsDotSegments = true }) { transport, server in
            for path in Self.paths {
                _ = try await transport.fetch(request(server.url(path)))
                #expect(server.requests.last?.target == path)
                _ = try await transport.fetch(request(server.url(path + "#fragment")))
                #expect(server.requests.last?.target == path)
            }
            #expect(transport.statistics.easyHandlesIdle == 1)
        }
    }

    @Test func dotSegmentsAreResolvedByDefault() async throws {
        try await withTransport { transport, server in
            _ = try await transport.fetch(request(server.url("/a/../b/./c?d=/../e")))
            #expect(server.requests.last?.target == "/b/c?d=/../e")
        }
    }

    @Test func keptDotSegmentsAreSentThroughProxy() async throws {
        let proxy = try TestServer()
        try await withTransport({
            $0.proxy = .url(proxy.url("/"))
            $0.keepsDotSegments = true
        }) { transport, _ in
            for path in Self.paths {
                let text = "http://origin.test:81\(path)"
                _ = try await transport.fetch(request(try #require(URL(string: text))))
                #expect(proxy.requests.last?.target == text)
            }
        }
        proxy.stop()
    }

    @Test func signatureUsesResolvedDotSegments() async throws {
        try await withTransport({ $0.keepsDotSegments = true }) { transport, server in
            let sign = { (request: inout TransferRequest) in
                request.headers = ["X-Amz-Date": "20150830T123600Z"]
                request.options.authentication = TransferAuthentication(
                    scheme: .awsSigV4(provider: "aws:amz:eu-central-1:execute-api"), username: "k", password: "s")
            }
            var signatures: Set<String> = []
            for path in ["/a/../b", "/b"] {
                _ = try await transport.fetch(request(server.url(path), sign))
                let seen = try #require(server.requests.last)
                #expect(seen.target == path)
                signatures.insert(try #require(seen.headers["Authorization"]))
            }
            #expect(signatures.count == 1)
        }
    }

    private static let ways: [(own: HTTPHeaders, defaults: HTTPHeaders?)] = [
        ([:], nil), (["X-Own": "1"], nil), ([:], ["X-Default": "1"]), (["X-Own": "1"], ["X-Default": "1"]),
        (["X-Default": "2"], ["X-Default": "1", "X-Other": "1"]),
    ]

    @Test(arguments: [false, true])
    func acceptFieldIsAddedOnlyIfEnabled(_ adds: Bool) async throws {
        try await withTransport({ $0.addsAccept = adds }) { transport, server in
            for (method, body) in [(HTTPMethod.get, BodySource.none), (.post, .data(Data("x".utf8)))] {
                // Twice, because the second round uses the cached plans of the first.
                for (own, defaults) in Self.ways + Self.ways {
                    _ = try await transport.fetch(
                        request(server.url("/anything"), method: method, headers: own, body: body) {
                            $0.defaultHeaders = defaults.map { DefaultHeaders($0) }
                        })
                    let seen = try #require(server.requests.last?.headers)
                    #expect(seen.values(for: "Accept") == (adds ? ["*/*"] : []))
                    for field in own { #expect(seen.values(for: field.name) == [field.value]) }
                    for field in defaults ?? [:] where own[field.name] == nil {
                        #expect(seen.values(for: field.name) == [field.value])
                    }
                }
            }
        }
    }

    @Test func explicitAcceptFieldIsSentOnce() async throws {
        try await withTransport({ $0.addsAccept = false }) { transport, server in
            for (own, defaults) in [
                (["accept": "a/b"], nil), ([:], ["Accept": "a/b"]), (["accept": "a/b"], ["Accept": "c/d"]),
            ]
                as [(HTTPHeaders, HTTPHeaders?)]
            {
                _ = try await transport.fetch(
                    request(server.url("/anything"), headers: own) {
                        $0.defaultHeaders = defaults.map { DefaultHeaders($0) }
                    })
                #expect(server.requests.last?.headers.values(for: "Accept") == ["a/b"])
            }
        }
    }
}
