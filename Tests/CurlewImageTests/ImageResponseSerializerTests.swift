import CurlewAFNetworking
import CurlewAlamofire
import CurlewImage
import CurlewTesting
import Foundation
import Testing

@Suite("Pictures as responses", .timeLimit(.minutes(4)))
struct ImageResponseSerializerTests {
    private func session() throws -> Session {
        let data = try DecoderTests.fixture("six.png")
        return Session(
            transport: MockTransport { request in
                switch request.path {
                case "/text": .text("no picture")
                case "/empty": .status(204)
                case "/error": .text("no", status: 500)
                default: .data(data, type: "image/png")
                }
            })
    }

    private func response(_ path: String) async throws -> AFDataResponse<Image> {
        let serializer = ImageResponseSerializer(filter: CroppedFilter(centre: ImageSize(width: 2, height: 2)))
            .accepting(contentTypes: ImageResponseSerializer.contentTypes)
        return try await session().request("https://example.com/\(path)").serializingResponse(using: serializer)
            .response
    }

    @Test("a picture is decoded and filtered")
    func picture() async throws { #expect(try await response("a").value?.size == ImageSize(width: 2, height: 2)) }

    @Test(
        "a response that is not a picture is an error",
        arguments: [
            ("text", CurlewError.Code.unacceptableContentType), ("empty", .decodingFailed),
            ("error", .unacceptableStatus),
        ])
    func failures(path: String, code: CurlewError.Code) async throws {
        let error = try await response(path).error
        #expect(error?.code == code)
        if path == "error" { #expect((error?.underlying as? CurlewError)?.code == .unacceptableContentType) }
    }

    @Test("a truncated picture is reported as corrupt")
    func broken() throws {
        let half = try DecoderTests.fixture("six.png").prefix(40)
        let error = #expect(throws: CurlewError.self) {
            try ImageResponseSerializer().serialize(request: nil, response: nil, data: half, error: nil)
        }
        guard case .corrupt(.png, _)? = error?.underlyingError as? ImageError else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test("in a compound serializer, data that is not a picture is left to the next serializer")
    func compound() throws {
        let serializer = CompoundResponseSerializer([
            ImageResponseSerializer().erased, JSONResponseSerializer().erased, StringResponseSerializer().erased,
        ])
        func value(_ data: Data) throws -> any Sendable {
            try serializer.serialize(request: nil, response: nil, data: data, error: nil)
        }
        #expect(try value(try DecoderTests.fixture("six.png")) is Image)
        #expect(try value(Data("[1]".utf8)) is [any Any & Sendable])
        #expect(try value(Data("text".utf8)) as? String == "text")
    }
}
