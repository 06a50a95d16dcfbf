import CurlewCore
import CurlewTesting
import CurlewTransport
import Foundation
import Glibc
import Testing

@Suite("Out of descriptors", .serialized, .timeLimit(.minutes(4)))
struct DescriptorLimitProcessWideTests {
    /// Runs `body` while the process can open nothing.
    private func withoutDescriptors<R>(_ body: () async throws -> R) async throws -> R {
        var limit = rlimit()
        try #require(getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
        var none = limit
        none.rlim_cur = 3
        try #require(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &none) == 0)
        defer { _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) }
        return try await body()
    }

    @Test func isSaidWithItsNativeCodeAndPasses() async throws {
        try await withTransport { transport, server in
            let numeric = request(server.url("/get"), method: .post)
            let named = request(try #require(URL(string: "http://some-host.invalid:\(server.port)/get")))
            let errors = try await withoutDescriptors {
                [await transport.failure(numeric), await transport.failure(named)]
            }
            #expect(errors.map(\.code) == [.connectFailed, .resolveFailed])
            for error in errors {
                #expect(error.native == CurlewError.NativeCode(number: 24, name: "EMFILE"), "\(error)")
                #expect(error.isSafeToRetry)
            }
            let after = try await transport.fetch(request(server.url("/get")))
            #expect(after.status == 200)
        }
    }

    @Test func aConnectionThatStandsIsUsedOn() async throws {
        try await withTransport { transport, server in
            _ = try await transport.fetch(request(server.url("/get")))
            let status = try await withoutDescriptors { try await transport.fetch(request(server.url("/get"))).status }
            #expect(status == 200)
            #expect(server.connectionCount == 1)
        }
    }

    @Test func aTransportMadeThenFailsEachRequest() async throws {
        let server = try TestServer()
        let (transport, error) = try await withoutDescriptors {
            let transport = CurlTransport()
            return (transport, await transport.failure(request(server.url("/get"))))
        }
        #expect(error.code == .`internal`)
        #expect(error.phase == .creation)
        _ = transport
        let text = try await CurlTransport().fetch(request(server.url("/get"))).status
        #expect(text == 200)
        server.stop()
    }
}
