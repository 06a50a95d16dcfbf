import CurlewAlamofire
import CurlewCore
import Foundation
import FoundationNetworking
import Testing

@testable import Curlew

@Suite(.timeLimit(.minutes(4)))
struct ResponseSerializerTests {
    private struct Reason: Error {}

    private static func response(_ status: Int, _ headers: [String: String] = [:]) -> HTTPURLResponse? {
        HTTPURLResponse(
            url: URL(string: "https://example.com/")!,
            statusCode: status,
            httpVersion: "HTTP/1.1",
            headerFields: headers
        )
    }

    private static func request(_ method: HTTPMethod = .get) throws -> URLRequest {
        try URLRequest(url: "https://example.com/", method: method)
    }

    private func reason(_ error: CurlewError?) -> String {
        guard case .responseSerializationFailed(let reason)? = error?.afError else { return "none" }
        return String("\(reason)".prefix { $0 != "(" })
    }

    private func failure(
        of serializer: some DataResponseSerializerProtocol,
        _ data: Data?,
        status: Int = 200,
        headers: [String: String] = [:]
    ) throws -> CurlewError? {
        let request = try Self.request()
        return #expect(throws: CurlewError.self) {
            _ = try serializer.serialize(
                request: request,
                response: Self.response(status, headers),
                data: data,
                error: nil
            )
        }
    }

    @Test(arguments: [nil, Data()])
    func emptyBodyIsASerializationError(data: Data?) throws {
        #expect(reason(try failure(of: .data, data)) == "inputDataNilOrZeroLength")
        #expect(reason(try failure(of: .string, data)) == "inputDataNilOrZeroLength")
        #expect(reason(try failure(of: JSONResponseSerializer(), data)) == "inputDataNilOrZeroLength")
        let error = try failure(of: DecodableResponseSerializer<[Int]>(), data)
        #expect(reason(error) == "inputDataNilOrZeroLength")
        #expect(error?.code == .decodingFailed)
        #expect(error?.isResponseSerializationError == true)
    }

    @Test(arguments: [(HTTPMethod.get, 204), (.get, 205), (.head, 200)])
    func allowsEmptyBodies(method: HTTPMethod, status: Int) throws {
        let (request, response) = (try Self.request(method), Self.response(status))
        #expect(
            try DataResponseSerializer().serialize(request: request, response: response, data: nil, error: nil)
                == Data()
        )
        #expect(
            try StringResponseSerializer().serialize(request: request, response: response, data: Data(), error: nil)
                == ""
        )
        #expect(
            try JSONResponseSerializer().serialize(request: request, response: response, data: nil, error: nil)
                is NSNull
        )
        #expect(
            try DecodableResponseSerializer<Empty>()
                .serialize(request: request, response: response, data: nil, error: nil) == Empty.value
        )
        let error = #expect(throws: CurlewError.self) {
            try DecodableResponseSerializer<[Int]>()
                .serialize(request: request, response: response, data: nil, error: nil)
        }
        #expect(reason(error) == "invalidEmptyResponse")
    }

    @Test func rulesAboutEmptyBodiesCanBeChanged() throws {
        let serializer = DataResponseSerializer(emptyResponseCodes: [299], emptyRequestMethods: [.post])
        func isAllowed(_ method: HTTPMethod, _ status: Int) throws -> Bool {
            serializer.emptyResponseAllowed(forRequest: try Self.request(method), response: Self.response(status))
        }
        #expect(try isAllowed(.get, 299))
        #expect(try isAllowed(.post, 200))
        #expect(try !isAllowed(.get, 204))
        #expect(try !isAllowed(.head, 200))
        #expect(serializer.requestAllowsEmptyResponseData(nil) == nil)
        #expect(serializer.responseAllowsEmptyResponseData(nil) == nil)
        #expect(!serializer.emptyResponseAllowed(forRequest: nil, response: nil))
    }

    @Test func passesOnTheErrorOfTheRequest() throws {
        let data = Data("[1]".utf8)
        #expect(throws: Reason.self) {
            try DataResponseSerializer().serialize(request: nil, response: nil, data: data, error: Reason())
        }
        #expect(throws: Reason.self) {
            try StringResponseSerializer().serialize(request: nil, response: nil, data: data, error: Reason())
        }
        #expect(throws: Reason.self) {
            try DecodableResponseSerializer<[Int]>().serialize(request: nil, response: nil, data: data, error: Reason())
        }
        #expect(throws: Reason.self) {
            try URLResponseSerializer().serializeDownload(request: nil, response: nil, fileURL: nil, error: Reason())
        }
    }

    @Test func decodesThroughThePreprocessor() throws {
        let data = Data(")]}',\n{\"a\":1}".utf8)
        let serializer = DecodableResponseSerializer<[String: Int]>(dataPreprocessor: .googleXSSI)
        #expect(try serializer.serialize(request: nil, response: nil, data: data, error: nil) == ["a": 1])
        let plain = Data("{\"a\":2}".utf8)
        #expect(try serializer.serialize(request: nil, response: nil, data: plain, error: nil) == ["a": 2])
    }

    @Test func decodingErrorHasItsReason() throws {
        let error = try failure(of: DecodableResponseSerializer<[String: Int]>(), Data("[1]".utf8))
        #expect(reason(error) == "decodingFailed")
        #expect(error?.underlying is DecodingError)
        #expect(reason(try failure(of: JSONResponseSerializer(), Data("{".utf8))) == "jsonSerializationFailed")
    }

    @Test(arguments: [
        ("text/plain; charset=utf-8", Data("é".utf8), "é"),
        ("text/plain; charset=ISO-8859-1", Data([0xE9]), "é"),
        ("text/plain; charset=windows-1251", Data([0xE9]), "й"),
        ("text/plain; charset=sjis", Data([0x93, 0xFA]), "日"),
        ("text/plain; charset=\"utf-16le\"", Data([0xE9, 0x00]), "é"),
        // No charset, or an unknown one.
        ("text/plain", Data([0xE9]), "é"),
        ("text/plain; charset=nonsense", Data([0xE9]), "é"),
        ("", Data([0xE9]), "é"),
    ])
    func readsTextInTheEncodingOfTheResponse(type: String, data: Data, expected: String) throws {
        let response = Self.response(200, type.isEmpty ? [:] : ["Content-Type": type])
        let serializer = StringResponseSerializer()
        #expect(try serializer.serialize(request: nil, response: response, data: data, error: nil) == expected)
    }

    @Test func encodingOfSerializerOverridesTheResponse() throws {
        let response = Self.response(200, ["Content-Type": "text/plain; charset=utf-8"])
        let serializer = StringResponseSerializer(encoding: .isoLatin1)
        #expect(try serializer.serialize(request: nil, response: response, data: Data([0xE9]), error: nil) == "é")
    }

    @Test func stringErrorHasItsReason() throws {
        let error = try failure(
            of: StringResponseSerializer(),
            Data([0xFF]),
            headers: ["Content-Type": "text/plain; charset=utf-8"]
        )
        #expect(reason(error) == "stringSerializationFailed")
        #expect(error?.failedStringEncoding == .utf8)
    }

    @Test func textThatFoundationCannotReadIsNotDecoded() throws {
        let headers = ["Content-Type": "text/plain; charset=euc-jp"]
        let error = try failure(of: StringResponseSerializer(), Data([0xC6, 0xFC]), headers: headers)
        #expect(error?.code == .decodingFailed)
        #expect(error?.isResponseSerializationError == true)
        #expect(error?.reason.contains("EUC-JP") == true)
    }

    @Test func serializesDownloads() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try Data("[1,2]".utf8).write(to: url)
        defer { try? FileManager.default.removeItem(at: url) }
        let decoding = DecodableResponseSerializer<[Int]>()
        #expect(try decoding.serializeDownload(request: nil, response: nil, fileURL: url, error: nil) == [1, 2])
        #expect(
            try URLResponseSerializer().serializeDownload(request: nil, response: nil, fileURL: url, error: nil) == url
        )
        let missing = #expect(throws: CurlewError.self) {
            try decoding.serializeDownload(request: nil, response: nil, fileURL: nil, error: nil)
        }
        #expect(reason(missing) == "inputFileNil")
        let unreadable = #expect(throws: CurlewError.self) {
            try decoding.serializeDownload(
                request: nil,
                response: nil,
                fileURL: url.appendingPathExtension("not"),
                error: nil
            )
        }
        #expect(reason(unreadable) == "inputFileReadFailed")
        #expect(unreadable?.code == .fileUnreadable)
    }

    @Test func serializesStreams() throws {
        #expect(try PassthroughStreamSerializer().serialize(Data([1])) == Data([1]))
        #expect(try StringStreamSerializer().serialize(Data([0x61, 0xFF])) == "a\u{FFFD}")
        #expect(try DecodableStreamSerializer<[Int]>().serialize(Data("[1]".utf8)) == [1])
        let error = #expect(throws: CurlewError.self) {
            try DecodableStreamSerializer<[Int]>().serialize(Data("[".utf8))
        }
        #expect(reason(error) == "decodingFailed")
    }
}
