import CurlewAFNetworking
import CurlewAlamofire
import Foundation
import Testing

@Suite("Serializers with AFNetworking's rules")
struct AFNetworkingSerializerTests {
    private static func response(_ status: Int, _ type: String?) -> HTTPURLResponse {
        HTTPURLResponse(
            url: URL(string: "https://example.com")!,
            statusCode: status,
            httpVersion: "HTTP/1.1",
            headerFields: type.map { ["Content-Type": $0] }
        )!
    }

    private static let json = JSONResponseSerializer().accepting(contentTypes: JSONResponseSerializer.contentTypes)
    private static let body = Data(#"{"a":1}"#.utf8)

    @Test(
        arguments: [
            (200, "application/json", nil), (200, "text/javascript; charset=utf-8", nil),
            (200, "text/html", CurlewError.Code.unacceptableContentType), (200, nil, .unacceptableContentType),
            (404, "application/json", .unacceptableStatus), (404, "text/html", .unacceptableStatus),
        ] as [(Int, String?, CurlewError.Code?)])
    func statusAndContentTypeDecideAcceptance(status: Int, type: String?, expected: CurlewError.Code?) {
        let result = Result {
            try Self.json.serialize(request: nil, response: Self.response(status, type), data: Self.body, error: nil)
        }
        switch result {
        case .success: #expect(expected == nil)
        case .failure(let error): #expect((error as? CurlewError)?.code == expected)
        }
    }

    @Test func `both errors are kept when both are wrong`() throws {
        let error = #expect(throws: CurlewError.self) {
            try Self.json.serialize(
                request: nil, response: Self.response(500, "text/html"), data: Self.body, error: nil)
        }
        #expect(error?.responseCode == 500)
        #expect((error?.underlying as? CurlewError)?.code == .unacceptableContentType)
    }

    @Test func `an error of the request passes through`() {
        let error = #expect(throws: CurlewError.self) {
            try Self.json.serialize(
                request: nil, response: Self.response(200, "text/html"), data: nil,
                error: CurlewError(.cancelled, phase: .lifecycle)
            )
        }
        #expect(error?.code == .cancelled)
    }

    @Test func `nulls are removed at every depth`() throws {
        let data = Data(#"{"a":null,"b":{"c":null,"d":[1,null,{"e":null}]},"f":"x"}"#.utf8)
        let value = try JSONResponseSerializer().removingNulls
            .serialize(request: nil, response: Self.response(200, "application/json"), data: data, error: nil)
        let expected: NSDictionary = ["b": ["d": [1, [:] as [String: Int]]], "f": "x"]
        #expect(expected.isEqual(value as? [String: any Any & Sendable]))
    }

    @Test(arguments: [PropertyListSerialization.PropertyListFormat.xml, .binary])
    func `property lists of both formats are read`(format: PropertyListSerialization.PropertyListFormat) throws {
        let original: [String: Any] = [
            "n": 1, "s": "text", "d": Date(timeIntervalSinceReferenceDate: 5), "b": Data([1, 2]),
        ]
        let data = try PropertyListSerialization.data(fromPropertyList: original, format: format, options: 0)
        let value = try PropertyListResponseSerializer()
            .serialize(request: nil, response: Self.response(200, "application/x-plist"), data: data, error: nil)
        #expect((original as NSDictionary).isEqual(value as? [String: any Any & Sendable]))
        let error = #expect(throws: CurlewError.self) {
            try PropertyListResponseSerializer()
                .serialize(request: nil, response: Self.response(200, nil), data: Data("{{{".utf8), error: nil)
        }
        #expect(error?.code == .decodingFailed)
    }

    @Test func `the first serializer that succeeds gives the value`() throws {
        let compound = CompoundResponseSerializer<any Any & Sendable>([
            JSONResponseSerializer(), PropertyListResponseSerializer(),
        ])
        let list = try PropertyListSerialization.data(fromPropertyList: ["k": "v"], format: .xml, options: 0)
        for data in [Data(#"{"k":"v"}"#.utf8), list] {
            let value = try compound.serialize(request: nil, response: Self.response(200, nil), data: data, error: nil)
            #expect((value as? [String: any Any & Sendable])?["k"] as? String == "v")
        }
        let error = #expect(throws: CurlewError.self) {
            try compound.serialize(request: nil, response: Self.response(200, nil), data: Data("[[".utf8), error: nil)
        }
        #expect(error?.code == .decodingFailed)
    }

    // MARK: Compound serializers

    private static let either = CompoundResponseSerializer([
        JSONResponseSerializer().accepting(contentTypes: JSONResponseSerializer.contentTypes).erased,
        StringResponseSerializer().accepting(contentTypes: ["text/plain"]).erased,
    ])

    @Test func `the first serializer that accepts a response gives its value`() throws {
        func value(_ type: String) throws -> any Sendable {
            try Self.either.serialize(
                request: nil, response: Self.response(200, type), data: Self.body, error: nil)
        }
        #expect(try value("application/json") is [String: any Any & Sendable])
        #expect(try value("text/plain") as? String == #"{"a":1}"#)
    }

    @Test func `when none does, every error is there, with what is beneath it`() throws {
        let error = #expect(throws: CurlewError.self) {
            try Self.either.serialize(
                request: nil, response: Self.response(500, "text/html"), data: Self.body, error: nil)
        }
        let failures = try #require(error?.underlyingError as? NoSerializerSucceeded).failures
        #expect(failures.count == 2)
        for failure in failures {
            #expect((failure as? CurlewError)?.code == .unacceptableStatus)
            #expect(((failure as? CurlewError)?.underlying as? CurlewError)?.code == .unacceptableContentType)
        }
    }

    @Test func `a compound serializer can be strict itself`() throws {
        let error = #expect(throws: CurlewError.self) {
            try Self.either.accepting(contentTypes: ["image/*"]).serialize(
                request: nil, response: Self.response(404, "text/plain"), data: Self.body, error: nil)
        }
        #expect(error?.code == .unacceptableStatus)
        #expect((error?.underlying as? CurlewError)?.code == .unacceptableContentType)
    }
}
