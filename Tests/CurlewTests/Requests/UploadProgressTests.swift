import Curlew
import CurlewLocks
import CurlewTesting
import Dispatch
import Foundation
import Testing

@Suite("Upload progress", .timeLimit(.minutes(4)))
struct UploadProgressTests {
    /// Returns the fractions that the closure received.
    private func fractions(of request: UploadRequest) async throws -> [Double] {
        let seen = Recorded<Double>()
        let queue = DispatchQueue(label: "progress")
        _ = try await request.uploadProgress(queue: queue) { seen.note($0.fractionCompleted) }.response().result.get()
        await queue.settled()
        #expect(request.uploadProgress.fractionCompleted == 1)
        return seen.all
    }

    private func expectRising(_ fractions: [Double], sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(!fractions.isEmpty, sourceLocation: sourceLocation)
        #expect(fractions == fractions.sorted(), sourceLocation: sourceLocation)
        #expect(fractions.last == 1, sourceLocation: sourceLocation)
    }

    @Test(arguments: [1, 10_000, 3_000_000])
    func uploadProgressRisesToOne(_ count: Int) async throws {
        let server = try TestServer()
        let session = Session(configuration: SessionConfiguration { $0.proxy = .none })
        let data = TestServer.patternBytes(count: count)
        expectRising(try await fractions(of: session.upload(data, to: server.url("/anything"))))
        let scratch = try ScratchDirectory()
        let file = scratch.file("upload")
        try data.write(to: file)
        expectRising(try await fractions(of: session.upload(file, to: server.url("/anything"), method: .put)))
        server.stop()
    }

    /// The body is sent again from its beginning after a challenge, and after a refused expectation.
    @Test func uploadProgressNeverFallsWhenBodyIsResent() async throws {
        let server = try TestServer()
        let session = Session(configuration: SessionConfiguration { $0.proxy = .none })
        let data = TestServer.patternBytes(count: 3_000_000)
        let digest = session.upload(data, to: server.url("/digest-auth/auth/user/secret"))
            .authenticate(with: TransferAuthentication(scheme: .digest, username: "user", password: "secret"))
        expectRising(try await fractions(of: digest))
        server.script("/refuses", .text("").changed { $0.expectation = .refuse }, .text("taken"))
        expectRising(try await fractions(of: session.upload(data, to: server.url("/refuses"))))
        #expect(server.requests.last?.body == data)
        server.stop()
    }
}
