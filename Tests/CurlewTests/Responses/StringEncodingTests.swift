import CurlewTesting
import Foundation
import Testing

@testable import Curlew

/// The encoding in which `string()` reads a body.
@Suite(.timeLimit(.minutes(4)))
struct StringEncodingTests {
    private static let cases: [(type: String?, bytes: [UInt8], text: String)] = [
        (nil, Array("Zürich 日本".utf8), "Zürich 日本"),
        ("text/plain", Array("Zürich".utf8), "Zürich"),
        ("text/plain", [0xEF, 0xBB, 0xBF, 0x61], "a"),
        ("text/plain", [0x5A, 0xFC], "Zü"),
        ("text/plain; charset=no-such", Array("Zürich".utf8), "Zürich"),
        ("text/plain; charset=iso-8859-1", Array("Zü".utf8), "ZÃ¼"),
        ("text/plain; charset=koi8-r", [0xC4], "д"),
    ]

    @Test(arguments: cases.indices)
    func textIsDecodedInTheEncodingOfTheResponse(index: Int) async throws {
        let (type, bytes, text) = Self.cases[index]
        let headers: HTTPHeaders = type.map { ["Content-Type": $0] } ?? [:]
        let session = Session(
            transport: MockTransport { _ in MockResponse(status: 200, headers: headers, body: [.bytes(Data(bytes))]) })
        #expect(try await session.request("https://example.org/").string() == text)
        let file = try await session.download("https://example.org/").string()
        #expect(file == text)
    }

    @Test func explicitEncodingOverridesTheResponse() async throws {
        let session = Session(transport: MockTransport { _ in .text("Zü") })
        #expect(try await session.request("https://example.org/").string(encoding: .isoLatin1) == "ZÃ¼")
    }

    @Test func errorTextShowsTheBodyOnce() {
        let head = ResponseHead(status: 200, headers: ["Content-Type": "text/plain"])
        let result = RunResult(
            response: LazyResponse(url: URL(filePath: "/"), head: head), body: .data(Data("no JSON".utf8)), error: nil)
        let once = CurlewError(.decodingFailed, phase: .decoding, reason: "x").located(in: result)
        #expect(once.reason.contains("The body (text/plain)"))
        #expect(once.located(in: result).reason == once.reason)
    }

    @Test func stringSerializerDefaultsToLatin1LikeAlamofire() throws {
        let serializer = StringResponseSerializer()
        let text = try serializer.serialize(request: nil, response: nil, data: Data("Zü".utf8), error: nil)
        #expect(text == "ZÃ¼")
    }
}
