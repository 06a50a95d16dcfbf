import CurlewAlamofire
import CurlewCore
import Foundation
import FoundationNetworking
import Testing

@testable import Curlew

@Suite(.timeLimit(.minutes(4)))
struct ResponseValueTests {
    private struct Reason: Error {}

    private func response(
        _ result: AFResult<String>,
        request: URLRequest? = nil
    ) throws -> AFDataResponse<String> {
        AFDataResponse(
            request: request,
            response: HTTPURLResponse(
                url: try #require(URL(string: "https://example.com/")),
                statusCode: 200,
                httpVersion: nil,
                headerFields: ["Content-Type": "application/json", "A": "1"]
            ),
            data: Data("{\"a\":1}".utf8),
            metrics: nil,
            serializationDuration: 0.5,
            result: result
        )
    }

    @Test func mapsValues() throws {
        let success = try response(.success("alamofire"))
        #expect(success.map(\.count).value == 9)
        #expect(success.tryMap { $0.count }.value == 9)
        #expect(success.tryMap { _ -> Int in throw Reason() }.error is Reason)
        #expect(success.mapError { _ in Reason() }.value == "alamofire")
        let mapped = success.map(\.count)
        #expect(mapped.data == success.data)
        #expect(mapped.response == success.response)
        #expect(mapped.serializationDuration == 0.5)
    }

    @Test func mapsErrors() throws {
        let failed = try response(.failure(.cancelled))
        #expect(failed.map(\.count).error?.code == .cancelled)
        #expect(failed.tryMap { $0.count }.error is CurlewError)
        #expect(failed.mapError { _ in Reason() }.error != nil)
        #expect(failed.tryMapError { _ -> Reason in throw CocoaError(.fileNoSuchFile) }.error is CocoaError)
        #expect(failed.tryMapError { _ in Reason() }.error is Reason)
    }

    @Test func downloadResponsesAreMapped() throws {
        let url = try #require(URL(string: "file:///tmp/file"))
        let response = AFDownloadResponse<String>(
            request: nil,
            response: nil,
            fileURL: url,
            resumeData: Data([1]),
            metrics: nil,
            serializationDuration: 0,
            result: .success("file")
        )
        let mapped = response.map(\.count)
        #expect(mapped.value == 4)
        #expect(mapped.fileURL == url)
        #expect(mapped.resumeData == Data([1]))
        #expect(response.tryMap { _ -> Int in throw Reason() }.error is Reason)
        #expect(response.mapError { _ in Reason() }.value == "file")
        #expect(response.debugDescription == "[Request]: None\n[Result]: success(\"file\")")
    }

    @Test func descriptionsShowRequestAndResponse() throws {
        #expect(try response(.success("x")).description == "success(\"x\")")
        #expect(try response(.success("x")).debugDescription == "[Request]: None\n[Result]: success(\"x\")")
        var request = try URLRequest(url: "https://example.com/", method: .post, headers: ["B": "2"])
        request.httpBody = Data(repeating: 0, count: 3)
        #expect(
            try response(.success("x"), request: request).debugDescription == """
                [Request]: POST https://example.com/
                    [Headers]:
                        B: 2
                    [Body]: 3 bytes
                [Response]:
                    [Status Code]: 200
                    [Headers]:
                        A: 1
                        Content-Type: application/json
                    [Body]:
                        {"a":1}
                [Network Duration]: None
                [Serialization Duration]: 0.5s
                [Result]: success("x")
                """
        )
    }

    @Test func keepsTheHeadThatWasReceived() throws {
        let head = ResponseHead(
            status: 200,
            headers: HTTPHeaders(received: [
                HTTPHeader(name: "Set-Cookie", value: "a=1"), HTTPHeader(name: "Set-Cookie", value: "b=2"),
            ])
        )
        let response = AFDataResponse<Int>(
            request: nil,
            lazyResponse: LazyResponse(url: try #require(URL(string: "https://example.com/")), head: head),
            data: nil,
            metrics: nil,
            serializationDuration: 0,
            result: .success(1)
        )
        #expect(response.head?.headers.values(for: "set-cookie") == ["a=1", "b=2"])
        #expect(response.response?.statusCode == 200)
        #expect(response.response === response.map { $0 + 1 }.response)
    }
}
