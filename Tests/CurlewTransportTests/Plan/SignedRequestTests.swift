import CurlewCore
import Foundation
import Testing

@testable import CurlewTransport

@Suite("Signed requests", .timeLimit(.minutes(4)))
struct SignedRequestTests {
    private static let execute = "aws:amz:eu-central-1:execute-api"
    /// The time that the examples of AWS use.
    private static let date = Date(timeIntervalSince1970: 1_440_938_160)

    private func signed(
        _ url: String,
        _ provider: String = Self.execute,
        body: BodySource = .none,
        headers: HTTPHeaders = [:],
        defaults: HTTPHeaders? = nil
    ) throws -> SignedRequest {
        let url = try #require(URL(string: url))
        var request = TransferRequest(identifier: TaskIdentifier(rawValue: 1), url: url, headers: headers, body: body)
        request.defaultHeaders = defaults.map { DefaultHeaders($0) }
        let authentication = TransferAuthentication(
            scheme: .awsSigV4(provider: provider), username: "AKIDEXAMPLE", password: "secret")
        return try SignedRequest(request, try WireURL(url), authentication, date: Self.date)
    }

    /// Returns the names in `SignedHeaders`.
    private func fields(of signed: SignedRequest) -> String? {
        signed.request.headers["Authorization"]?.components(separatedBy: "SignedHeaders=").last?
            .components(separatedBy: ",").first
    }

    @Test(
        "the signed URL has no repeated slashes, except for S3, and no dot segments or fragment",
        arguments: [
            ("https://h/a//b///c", execute, "https://h/a/b/c"), ("https://h//", execute, "https://h/"),
            ("https://h/a//b?x=//y", execute, "https://h/a/b?x=//y"), ("https://h?x=//y", execute, "https://h?x=//y"),
            ("https://h/a%2F%2Fb//", execute, "https://h/a%2F%2Fb/"),
            ("https://h/a//b", "aws:amz:eu-central-1:s3", "https://h/a//b"),
            ("https://h/a//b", "AWS:amz:eu-central-1:S3", "https://h/a//b"),
            ("https://h/a//b", "aws:amz:eu-central-1:s3-outposts", "https://h/a//b"),
            // If the provider names no service, the host determines it.
            ("https://s3.eu-central-1.amazonaws.com/a//b", "aws:amz", "https://s3.eu-central-1.amazonaws.com/a//b"),
            ("https://iam.eu-central-1.amazonaws.com/a//b", "aws:amz", "https://iam.eu-central-1.amazonaws.com/a/b"),
            ("https://h/a/../b/./c#d", execute, "https://h/b/c"),
        ])
    func slashes(url: String, provider: String, expected: String) throws {
        #expect(try signed(url, provider).url == expected)
    }

    @Test("fields that belong to the connection or that proxies may change are not signed")
    func unsignedFields() throws {
        let signed = try signed(
            "https://h:8443/", headers: ["X-Own": "1", "Connection": "close", "Expect": "100-continue"],
            defaults: ["User-Agent": "c", "Accept-Language": "en", "X-Amz-Security-Token": "t"])
        #expect(fields(of: signed) == "host;x-amz-date;x-amz-security-token;x-own")
        #expect(signed.request.headers["Host"] == "h:8443")
        #expect(try self.signed("https://h/", defaults: ["Host": "own"]).request.headers["Host"] == "own")
        #expect(signed.request.headers["x-amz-date"] == "20150830T123600Z")
    }

    @Test(
        "the signed host is the host that libcurl reads from the URL",
        arguments: [
            ("https://EX%41mple.com/", "example.com"), ("https://ex%61mple.com:8443/", "example.com:8443"),
            ("https://[fe80::1%25lo]/", "[fe80::1]"),
        ])
    func hosts(url: String, expected: String) throws {
        #expect(try signed(url).request.headers["Host"] == expected)
    }

    @Test("Content-Length is signed only if it is the length of the body")
    func lengths() throws {
        let body = BodySource.data(Data("abc".utf8))
        #expect(
            try fields(of: signed("https://h/", body: body, headers: ["Content-Length": "3"]))
                == "content-length;host;x-amz-date")
        #expect(try fields(of: signed("https://h/", body: body, headers: ["Content-Length": "4"])) == "host;x-amz-date")
    }

    @Test("S3 gets the hash of the body or UNSIGNED-PAYLOAD in a field")
    func payloads() throws {
        let s3 = "aws:amz:eu-central-1:s3"
        let file = BodySource.file(URL(filePath: "/nowhere"), range: nil)
        let empty = try signed("https://h/", s3).request.headers["x-amz-content-sha256"]
        #expect(empty == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        let streamed = try signed("https://h/", s3, body: file)
        #expect(streamed.request.headers["x-amz-content-sha256"] == "UNSIGNED-PAYLOAD")
        #expect(fields(of: streamed) == "host;x-amz-content-sha256;x-amz-date")
        #expect(try signed("https://h/").request.headers["x-amz-content-sha256"] == nil)
        #expect { try signed("https://h/", body: file) } throws: { CurlewError.Code.unsupported ~= $0 }
        let own = try signed("https://h/", body: file, headers: ["X-Amz-Content-Sha256": "UNSIGNED-PAYLOAD"])
        #expect(fields(of: own) == "host;x-amz-content-sha256;x-amz-date")
    }

    @Test("a host without service and region, and an unreadable date, are refused")
    func refusals() {
        #expect { try signed("https://localhost/", "aws:amz") } throws: { CurlewError.Code.invalidURL ~= $0 }
        #expect { try signed("https://h/", headers: ["X-Amz-Date": "today"]) } throws: {
            CurlewError.Code.invalidHeader ~= $0
        }
    }

    @Test("a request that has an Authorization field is not signed")
    func ownAuthorization() throws {
        let signed = try signed("https://h/", headers: ["Authorization": "Bearer t"])
        #expect(signed.request.headers.count == 1 && signed.request.headers["Authorization"] == "Bearer t")
    }
}
