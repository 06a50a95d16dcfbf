import CurlewCore
import CurlewTransport
import Foundation
import Testing

/// These tests measure the memory of the process, so they run alone (see scripts/test). `CURLEW_LARGE_BYTES` sets the
/// size.
@Suite("Large bodies in little memory", .realServers, .serialized, .timeLimit(.minutes(3)))
struct LargeBodyProcessWideTests {
    private static let allowedGrowthKilobytes = 8 * 1024

    private func streaming() -> TransferOptions {
        var options = TransferOptions()
        options.purpose = .stream
        options.maximumBodySize = nil
        return options
    }

    /// Runs `body` twice, and returns by how many kB memory grew in the second run. The first one warms up.
    private func growth(of body: () async throws -> Void) async throws -> Int {
        try await body()
        let before = ProcessMemory.residentKilobytes
        try await body()
        return ProcessMemory.residentKilobytes - before
    }

    @Test(arguments: ["NGINX", "NGINX_TLS"])
    func streamedDownloadUsesConstantMemory(server: String) async throws {
        let transport = try makeTrustingTransport()
        let url = try IntegrationEnvironment.url(server, "/large.bin")
        let expected = try #require(Int(IntegrationEnvironment.text("LARGE_BYTES")))
        let grown = try await growth {
            let sink = CollectingSink(keepsBody: false)
            let outcome = try await transport.perform(makeRequest(url, options: streaming()), sink: sink)
            #expect(outcome.head.status == 200)
            #expect(sink.current.byteCount == expected)
        }
        if !IntegrationEnvironment.isSanitized { #expect(grown < Self.allowedGrowthKilobytes) }
    }

    // HTTP/2 is left out: nginx responds before the body has arrived, and then libcurl 7.88 waits forever.
    @Test(arguments: ["NGINX", "NGINX_TLS_HTTP1"])
    func uploadFromFileUsesConstantMemory(server: String) async throws {
        let size = try #require(Int(IntegrationEnvironment.text("LARGE_BYTES")))
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        #expect(FileManager.default.createFile(atPath: file.path, contents: nil))
        defer { try? FileManager.default.removeItem(at: file) }
        let handle = try FileHandle(forWritingTo: file)
        try handle.truncate(atOffset: UInt64(size))
        try handle.close()
        let transport = try makeTrustingTransport()
        let url = try IntegrationEnvironment.url(server, "/sink")
        let grown = try await growth {
            let sink = CollectingSink()
            let request = makeRequest(url, method: .put, body: .file(file))
            let outcome = try await transport.perform(request, sink: sink)
            #expect(outcome.head.status == 200)
            #expect(sink.current.bytesSent == Int64(size))
        }
        if !IntegrationEnvironment.isSanitized { #expect(grown < Self.allowedGrowthKilobytes) }
    }

    /// Over HTTP/2, memory may grow by the window that libcurl has offered, which is 10 MiB in most versions.
    @Test(arguments: [("NGINX", 0), ("NGINX_TLS_HTTP1", 0), ("NGINX_TLS", 16 * 1024)])
    func pausedDownloadStopsTheSender(server: String, window: Int) async throws {
        let transport = try makeTrustingTransport()
        let url = try IntegrationEnvironment.url(server, "/large.bin")
        let expected = try #require(Int(IntegrationEnvironment.text("LARGE_BYTES")))
        let sink = CollectingSink(keepsBody: false, pausesAtHead: true)
        let before = ProcessMemory.residentKilobytes
        async let outcome = transport.perform(makeRequest(url, options: streaming()), sink: sink)
        while !sink.current.hasPaused { try await Task.sleep(for: .milliseconds(2)) }
        // In this time an unrestricted sender on loopback would have sent everything.
        try await Task.sleep(for: .milliseconds(300))
        #expect(sink.current.byteCount == 0)
        if !IntegrationEnvironment.isSanitized {
            #expect(ProcessMemory.residentKilobytes - before < Self.allowedGrowthKilobytes + window)
        }
        sink.current.control?.resumeReceiving()
        #expect(try await outcome.head.status == 200)
        #expect(sink.current.byteCount == expected)
    }
}
