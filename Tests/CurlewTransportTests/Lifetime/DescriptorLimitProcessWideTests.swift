import CurlewCore
import CurlewTesting
import CurlewTransport
import Foundation
import Glibc
import Testing

@Suite("Lack of file descriptors", .serialized, .timeLimit(.minutes(4)))
struct DescriptorLimitProcessWideTests {
    /// Runs `body` while the process can open only `count` more descriptors.
    private func withoutDescriptors<R>(keeping count: Int32 = 0, _ body: () async throws -> R) async throws -> R {
        var limit = rlimit()
        try #require(getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
        var none = limit
        // The system assigns the lowest free numbers first.
        let free = try (0..<count).map { _ in
            let fd = open("/dev/null", O_RDONLY | O_CLOEXEC)
            try #require(fd >= 0)
            return fd
        }
        for fd in free { close(fd) }
        none.rlim_cur = free.max().map { rlim_t($0) + 1 } ?? 3
        try #require(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &none) == 0)
        defer { _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) }
        return try await body()
    }

    @Test func descriptorLimitIsReportedAsEMFILE() async throws {
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

    /// The connection uses the last descriptor, so the file of roots cannot be opened.
    @Test func descriptorLimitIsReportedForTrustRootsFile() async throws {
        try await withTransport({
            $0.tls.trustRoots = .file(URL(filePath: "/etc/ssl/certs/ca-certificates.crt"))
        }) { transport, server in
            // The process opens some descriptors only once. This request makes it do so before the limit.
            _ = try await transport.fetch(request(server.url("/get"), headers: ["Connection": "close"]))
            // The server runs in this process, so a connection that it closes later would free a descriptor.
            try await server.waitForOpenConnections(atMost: 0)
            let url = try #require(URL(string: "https://127.0.0.1:\(server.port)/"))
            let error = try await withoutDescriptors(keeping: 1) { await transport.failure(request(url)) }
            #expect(error.code == .connectFailed, "\(error)")
            #expect(error.native == CurlewError.NativeCode(number: 24, name: "EMFILE"), "\(error)")
        }
    }

    @Test func openConnectionIsUsedAtDescriptorLimit() async throws {
        try await withTransport { transport, server in
            _ = try await transport.fetch(request(server.url("/get")))
            let status = try await withoutDescriptors { try await transport.fetch(request(server.url("/get"))).status }
            #expect(status == 200)
            #expect(server.connectionCount == 1)
        }
    }

    @Test func transportMadeAtDescriptorLimitFailsRequests() async throws {
        let server = try TestServer()
        let (transport, error) = try await withoutDescriptors {
            let transport = CurlTransport()
            return (transport, await transport.failure(request(server.url("/get"))))
        }
        #expect(error.code == .connectFailed)
        #expect(error.native == CurlewError.NativeCode(number: 24, name: "EMFILE"), "\(error)")
        #expect(error.phase == .creation)
        _ = transport
        let text = try await CurlTransport().fetch(request(server.url("/get"))).status
        #expect(text == 200)
        server.stop()
    }
}
