import CurlewAlamofire
import CurlewCore
import CurlewTesting
import Foundation
import FoundationNetworking
import Testing

@testable import Curlew

/// Downloads whose file is read into memory.
@Suite("A downloaded file in memory", .timeLimit(.minutes(4)))
struct DownloadInMemoryTests {
    /// A serializer that reads the file in its own way.
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

    @Test("may be as large as the limit", arguments: Form.allCases)
    func fits(_ form: Form) async throws {
        let scratch = try ScratchDirectory()
        try await form.carryOut(request(limit: Self.text.utf8.count, of: scratch))
        // The request's limit is the one that counts.
        try await form.carryOut(request(limit: 1, of: scratch).maximumBodySize(Self.text.utf8.count))
    }

    @Test("may not be larger", arguments: Form.allCases)
    func tooLarge(_ form: Form) async throws {
        let scratch = try ScratchDirectory()
        let request = request(limit: Self.text.utf8.count - 1, of: scratch)
        let error = await #expect(throws: CurlewError.self) { try await form.carryOut(request) }
        #expect(error?.code == .limitExceeded)
        #expect(error?.responseCode == 200)
        // The download itself has succeeded.
        #expect(scratch.file("a").text == Self.text)
    }

    @Test("is not in memory where it is not read as a whole")
    func onDisk() async throws {
        let scratch = try ScratchDirectory()
        #expect(try await request(limit: 1, of: scratch).file() == scratch.file("a"))
        #expect(try await request(limit: 1, of: scratch).serializingDownload(using: Counting()).value == 12)
    }
}
