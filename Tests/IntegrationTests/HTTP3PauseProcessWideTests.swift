import CurlewCore
import CurlewTransport
import Foundation
import Testing

/// Measures the memory of the process while a body is not read.
@Suite("Paused readers over HTTP/3", .realServers, .http3, .serialized, .timeLimit(.minutes(4)))
struct HTTP3PauseProcessWideTests {
    /// The most memory, in MiB, that an unread body may take. libcurl before 8.18 buffers up to 64 MB of the body.
    private static let mostKept = Capabilities.ofLibcurl.quirks.readsQUICWhilePaused ? 64 + 32 : 16

    @Test func pausedHTTP3DownloadLosesNothingInLittleMemory() async throws {
        let transport = try makeHTTP3Transport()
        let length = try #require(Int(IntegrationEnvironment.text("LARGE_BYTES")))
        let small = try IntegrationEnvironment.url("CADDY", "/small")
        _ = try await transport.exchange(small)
        let sink = CollectingSink(keepsBody: false, pausesAtHead: true)
        let request = makeRequest(try IntegrationEnvironment.url("CADDY", "/files/large.bin"))
        let before = ProcessMemory.residentKilobytes
        let running = Task { try await transport.perform(request, sink: sink) }
        while !sink.current.hasPaused { try await Task.sleep(for: .milliseconds(2)) }
        // Other requests use the same connection, for long enough that the whole body could have arrived.
        for _ in 0..<400 {
            let answer = try await transport.exchange(small)
            #expect(answer.status == 200)
        }
        #expect(sink.current.byteCount == 0)
        if !IntegrationEnvironment.isSanitized {
            #expect(ProcessMemory.residentKilobytes - before < Self.mostKept * 1024)
        }
        sink.current.control?.resumeReceiving()
        let outcome = try await running.value
        #expect(sink.current.byteCount == length)
        #expect(outcome.metrics.httpVersion == .http3)
        #expect(transport.statistics.connectionsMade == 1)
    }
}
