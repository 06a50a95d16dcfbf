import CurlewAlamofire
import CurlewTesting
import Dispatch
import Foundation
import Testing

/// Bodies as Foundation streams, in both directions.
@Suite(.timeLimit(.minutes(4)))
struct InputStreamTests {
    /// Reads on a separate thread, because reading blocks.
    private func contents(_ stream: sending InputStream, pieces: Int) async -> (Data, Stream.Status) {
        // SAFETY: the stream was sent here, and only the closure that receives it reads it.
        nonisolated(unsafe) let stream = stream
        return await withCheckedContinuation { continuation in
            DispatchQueue(label: "reader").async {
                stream.open()
                var all = Data()
                var buffer = [UInt8](repeating: 0, count: pieces)
                while true {
                    let count = stream.read(&buffer, maxLength: buffer.count)
                    guard count > 0 else { break }
                    all.append(contentsOf: buffer[..<count])
                }
                continuation.resume(returning: (all, stream.streamStatus))
            }
        }
    }

    @Test(arguments: [1000, 4096, 1 << 20]) func aBodyIsReadAsAStream(pieces: Int) async throws {
        let server = try TestServer()
        let stream = try #require(Session().streamRequest(server.url("/bytes/3000000")).asInputStream())
        let (data, status) = await contents(stream, pieces: pieces)
        #expect(data == TestServer.patternBytes(from: 0, count: 3_000_000, seed: 0))
        #expect(status == .atEnd)
    }

    @Test func failedRequestFailsTheInputStream() async throws {
        let server = try TestServer()
        let stream = try #require(Session().streamRequest(server.url("/status/500")).validate().asInputStream())
        let (data, status) = await contents(stream, pieces: 100)
        #expect(data.isEmpty)
        #expect(status == .error)
    }

    @Test func closingTheStreamCancelsItsRequest() async throws {
        let server = try TestServer()
        let request = Session().streamRequest(server.url("/hang"))
        let stream = try #require(request.asInputStream())
        stream.open()
        try await server.waitForRequests(count: 1)
        stream.close()
        try await eventually { request.isCancelled }
        #expect(stream.streamStatus == .closed)
    }

    private struct Note: UploadConvertible {
        let url: URL

        func asURLRequest() throws -> URLRequest {
            var request = URLRequest(url: url)
            request.httpMethod = "PUT"
            return request
        }

        func createUploadable() throws -> UploadRequest.Uploadable { .data(Data("note".utf8)) }
    }

    @Test func uploadableConvertibleIsSent() async throws {
        let server = try TestServer()
        let url = server.url("/anything")
        let session = Session()
        let note = session.upload(Note(url: url))
        _ = try await note.data()
        _ = try await session.upload(UploadRequest.Uploadable.data(Data("data".utf8)), with: Note(url: url)).data()
        let stream = UploadRequest.Uploadable.stream(InputStream(data: Data("stream".utf8)))
        _ = try await session.upload(stream, with: Note(url: url)).data()
        #expect(server.requests.map { "\($0.method) \($0.bodyText ?? "")" } == ["PUT note", "PUT data", "PUT stream"])
        guard case .data(let made) = try note.upload.createUploadable() else {
            Issue.record("no data")
            return
        }
        #expect(made == Data("note".utf8))
    }
}
