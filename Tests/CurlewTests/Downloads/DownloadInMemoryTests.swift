import CurlewAlamofire
import CurlewCore
import CurlewTesting
import Foundation
import FoundationNetworking
import Testing

@testable import Curlew

/// Downloads whose file is read into memory.
@Suite("Downloads that are read into memory", .timeLimit(.minutes(4)))
struct DownloadInMemoryTests {
    /// A serializer that measures the file without reading it into memory.
    private struct Counting: DataResponseSerializerProtocol, DownloadResponseSerializerProtocol {
        func serialize(request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?) throws -> Int
        {
            data?.count ?? 0
        }

        func serializeDownload(
            request: URLRequest?, response: HTTPURLResponse?, fileURL: URL?, error: (any Error)?
        ) throws -> Int {
            try #require(fileURL).resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0
        }
    }

    enum Form: CaseIterable {
        case data, string, decode, serializing, serializingString, handler

        func carryOut(_ request: DownloadRequest) async throws {
            switch self {
            case .data: _ = try await request.data()
            case .string: _ = try await request.string()
            case .decode: _ = try await request.decode(String.self)
            case .serializing: _ = try await request.serializingData().value
            case .serializingString: _ = try await request.serializingDownload(using: .string).value
            case .handler:
                let result: Result<Data, CurlewError> = await withCheckedContinuation { continuation in
                    request.responseData(queue: .global()) { continuation.resume(returning: $0.result) }
                }
                _ = try result.get()
            }
        }
    }

    private static let text = "\"0123456789\""

    private func request(limit: Int, of scratch: ScratchDirectory) -> DownloadRequest {
        let session = Session(
            configuration: SessionConfiguration { $0.maximumBodySize = limit },
            transport: MockTransport { _ in .text(Self.text) })
        return session.download("https://example.org/", to: destination(scratch.file("a"), .removePreviousFile))
    }

    @Test("a downloaded file as large as the limit can be read into memory", arguments: Form.allCases)
    func fits(_ form: Form) async throws {
        let scratch = try ScratchDirectory()
        try await form.carryOut(request(limit: Self.text.utf8.count, of: scratch))
        // The request's limit overrides the session's.
        try await form.carryOut(request(limit: 1, of: scratch).maximumBodySize(Self.text.utf8.count))
    }

    @Test("a downloaded file above the limit cannot be read into memory, but stays on disk", arguments: Form.allCases)
    func tooLarge(_ form: Form) async throws {
        let scratch = try ScratchDirectory()
        let request = request(limit: Self.text.utf8.count - 1, of: scratch)
        let error = await #expect(throws: CurlewError.self) { try await form.carryOut(request) }
        #expect(error?.code == .limitExceeded)
        #expect(error?.responseCode == 200)
        // The download itself has succeeded.
        #expect(scratch.file("a").text == Self.text)
    }

    @Test("the limit for bodies in memory does not apply to files that are not read into memory")
    func onDisk() async throws {
        let scratch = try ScratchDirectory()
        #expect(try await request(limit: 1, of: scratch).file() == scratch.file("a"))
        #expect(try await request(limit: 1, of: scratch).serializingDownload(using: Counting()).value == 12)
    }

    // MARK: Files without a destination

    /// Records the URLs of the files of all attempts.
    private struct Places: Curlew.EventMonitor {
        let all: Recorded<URL>

        func request(
            _ request: DownloadRequest, didFinishDownloading result: Result<URL, CurlewError>, of task: TaskIdentifier
        ) { if case .success(let url) = result { all.note(url) } }
    }

    private func unplaced(_ places: Recorded<URL>, limit: Int = 100) -> DownloadRequest {
        let session = Session(
            configuration: SessionConfiguration { $0.maximumBodySize = limit },
            transport: MockTransport { _ in .text(Self.text) }, eventMonitors: [Places(all: places)])
        return session.download("https://example.org/")
    }

    private func existing(_ places: Recorded<URL>) -> [Bool] {
        places.all.map { FileManager.default.fileExists(atPath: $0.plainPath) }
    }

    @Test("a file without a destination stays at the request's fileURL after it was read")
    func stays() async throws {
        let places = Recorded<URL>()
        let request = unplaced(places)
        #expect(try await request.string() == Self.text)
        let url = try #require(request.fileURL)
        defer { try? FileManager.default.removeItem(at: url) }
        try await eventually { places.all == [url] }
        #expect(existing(places) == [true])
        // A later call that fails does not remove the file.
        await #expect(throws: CurlewError.self) { try await request.decode(Int.self) }
        #expect(try await request.file() == url)
        #expect(existing(places) == [true])
    }

    @Test("a file without a destination is removed if it is too large or cannot be decoded", arguments: [true, false])
    func goes(isTooLarge: Bool) async throws {
        let places = Recorded<URL>()
        let request = unplaced(places, limit: isTooLarge ? 1 : 100)
        let error = await #expect(throws: CurlewError.self) { try await request.decode(Int.self) }
        #expect(error?.code == (isTooLarge ? .limitExceeded : .decodingFailed))
        #expect(request.fileURL == nil)
        try await eventually { places.all.count == 1 }
        #expect(existing(places) == [false])
        // The file has been removed, and the response does not name it.
        #expect(await request.response().fileURL == nil)
        await #expect(throws: CurlewError.self) { try await request.file() }
    }

    @Test("the files of attempts that could not be decoded are removed", arguments: [true, false])
    func ofEveryAttempt(succeeds: Bool) async throws {
        let places = Recorded<URL>()
        let request = unplaced(places).retry(
            using: Curlew.Retrier { request, _, _ in request.retryCount < 2 ? .retry : .doNotRetry })
        if succeeds {
            #expect(try await request.decode(String.self, decoder: ThirdTime()) == "0123456789")
        } else {
            await #expect(throws: CurlewError.self) { try await request.decode(Int.self) }
        }
        try await eventually { places.all.count == 3 }
        #expect(existing(places) == [false, false, succeeds])
        try request.fileURL.map { try FileManager.default.removeItem(at: $0) }
    }

    /// A decoder that fails twice before it succeeds.
    private final class ThirdTime: DataDecoder {
        private let asked = Recorded<Int>()

        func decode<D: Decodable>(_ type: D.Type, from data: Data) throws -> D {
            asked.note(data.count)
            if asked.all.count < 3 { throw CocoaError(.coderReadCorrupt) }
            return try JSONDecoder().decode(type, from: data)
        }
    }

    @Test("a response keeps the file of its last attempt, and the file of the retried attempt is removed")
    func ofHandlers() async throws {
        let places = Recorded<URL>()
        let request = unplaced(places).retry(
            using: Curlew.Retrier { request, _, _ in request.retryCount < 1 ? .retry : .doNotRetry })
        let response = await request.serializingDecodable(Int.self).response
        #expect(response.error?.code == .decodingFailed)
        let url = try #require(response.fileURL)
        defer { try? FileManager.default.removeItem(at: url) }
        try await eventually { places.all.count == 2 }
        #expect(existing(places) == [false, true])
    }

    @Test("a file that cannot be decoded stays if another call asked for it too", arguments: [true, false])
    func besideOthers(hasHandler: Bool) async throws {
        let places = Recorded<URL>()
        let request = unplaced(places)
        let seen = Recorded<URL?>()
        if hasHandler {
            request.response(queue: .global()) { seen.note($0.fileURL) }
        } else {
            seen.note(try await request.file())
        }
        await #expect(throws: CurlewError.self) { try await request.decode(Int.self) }
        try await eventually { seen.all.count == 1 && places.all.count == 1 }
        let url = try #require(seen.all.first ?? nil)
        defer { try? FileManager.default.removeItem(at: url) }
        #expect(request.fileURL == url)
        #expect(existing(places) == [true])
    }

    @Test("a file with a destination stays although it cannot be decoded")
    func withDestination() async throws {
        let scratch = try ScratchDirectory()
        await #expect(throws: CurlewError.self) { try await request(limit: 100, of: scratch).decode(Int.self) }
        #expect(scratch.file("a").text == Self.text)
    }
}
