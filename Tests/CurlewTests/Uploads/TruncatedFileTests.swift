import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

@Suite("Files that change while they are sent", .timeLimit(.minutes(4)))
struct TruncatedFileTests {
    @Test("a file that is truncated during its upload is an error, never a shorter body")
    func truncated() async throws {
        var configuration = TestServer.Configuration()
        configuration.receiveBufferSize = 32 << 10
        let server = try TestServer(configuration)
        let gate = Gate()
        server.script("/in", TestServer.Response.text("ok").stalling(until: gate, at: .readingBody(after: 100_000)))
        let scratch = try ScratchDirectory()
        let file = scratch.file("a")
        try Data(repeating: 7, count: 64 << 20).write(to: file)
        let cut = Lock(false)
        let request = Session().upload(file, to: server.url("/in"))
        request.uploadProgress(queue: DispatchQueue(label: "p")) { _ in
            guard !cut.withLock({ exchange(&$0, with: true) }) else { return }
            truncate(file.plainPath, 200_000)
            gate.open()
        }
        let error = await #expect(throws: CurlewError.self) { try await request.data() }
        #expect(error?.code == .fileUnreadable || error?.code == .bodyUnavailable, "\(String(describing: error))")
        #expect(server.requests.allSatisfy { !$0.isBodyComplete })
    }
}
