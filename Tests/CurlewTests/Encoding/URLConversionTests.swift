import CurlewAlamofire
import Foundation
import Testing

@testable import Curlew

@Suite(.timeLimit(.minutes(4)))
struct URLConversionTests {
    @Test func turnsStringsURLsAndComponentsIntoURLs() throws {
        let url = try #require(URL(string: "https://example.com/a?b=c"))
        #expect(try "https://example.com/a?b=c".asURL() == url)
        #expect(try url.asURL() == url)
        #expect(try #require(URLComponents(string: "https://example.com/a?b=c")).asURL() == url)
    }

    @Test(arguments: ["", "https://user:secret@exa mple[.com/?token=hidden"])
    func invalidURLErrorShowsNoSecrets(text: String) throws {
        let error = #expect(throws: CurlewError.self) { _ = try text.asURL() }
        #expect(error?.code == .invalidURL)
        #expect(error?.isInvalidURLError == true)
        #expect(error?.urlConvertible as? String == text)
        #expect(error?.errorDescription?.hasPrefix("URL is not valid: ") == true)
        #expect("\(try #require(error))".contains("secret") == false)
        #expect("\(try #require(error))".contains("hidden") == false)
    }

    @Test(arguments: [
        ("https://ada:pass#word@example.org/a?b=c", "https://example.org/a?b=_"),
        ("https://ada@example.org:pass?word@example.org/", "https://example.org/"),
        ("https://ada:pass/wo#rd@example.org/", "https://example.org/"),
        ("https://[::1?mail=ada@example.org", "https://[::1?mail=_"),
    ])
    func invalidURLErrorShowsURLWithoutCredentials(text: String, shown: String) throws {
        let error = #expect(throws: CurlewError.self) { _ = try text.asURL() }
        #expect(error?.reason == "URL is not valid: \(shown)")
    }

    @Test func refusesComponentsThatMakeNoURL() {
        var components = URLComponents()
        components.host = "example.com"
        components.path = "no-slash"
        #expect(throws: CurlewError.self) { _ = try components.asURL() }
    }

    @Test func makesRequests() throws {
        let request = try URLRequest(url: "https://example.com/", method: .patch, headers: ["X": "1"])
        #expect(request.method == .patch)
        #expect(request.headers["x"] == "1")
        #expect(try request.asURLRequest() == request)
        #expect(request.urlRequest == request)
        #expect(try URLRequest(url: "https://example.com/", method: .get).method == .get)
        #expect(throws: CurlewError.self) { try URLRequest(url: "", method: .get) }
    }

    @Test func setsMethodsAndHeaders() throws {
        var request = try URLRequest(url: "https://example.com/", method: .get)
        request.method = .query
        request.headers = ["A": "1"]
        request.headers.add(name: "B", value: "2")
        #expect(request.httpMethod == "QUERY")
        #expect(request.allHTTPHeaderFields == ["A": "1", "B": "2"])
        request.headers.remove(name: "a")
        #expect(request.allHTTPHeaderFields == ["B": "2"])
    }

    @Test func refusesABodyInGET() throws {
        var request = try URLRequest(url: "https://example.com/", method: .get)
        try request.validate()
        request.httpBody = Data("x".utf8)
        let error = #expect(throws: CurlewError.self) { try request.validate() }
        #expect(error?.code == .invalidBody)
        guard case .urlRequestValidationFailed(.bodyDataInGETRequest(let data))? = error?.afError else {
            Issue.record("wrong reason")
            return
        }
        #expect(data == Data("x".utf8))
        request.method = .post
        try request.validate()
    }

    @Test func hasDefaultHeaders() throws {
        let languages = PreferredLanguages.list(in: ProcessInfo.processInfo.environment, otherwise: [])
        #expect(
            HTTPHeaders.default.map(\.name)
                == ["Accept-Encoding"] + (languages.isEmpty ? [] : ["Accept-Language"]) + ["User-Agent"])
        let agent = try #require(HTTPHeaders.default["User-Agent"])
        let shape = /[^\/ ]+ \(Linux \d+\.\d+\.\d+\) Curlew\/\d+\.\d+\.\d+/
        #expect(agent.wholeMatch(of: shape) != nil, "\(agent)")
        #expect(!agent.lowercased().contains("unknown"))
        #expect(HTTPHeaders.default.allSatisfy { $0.isValid })
        #expect(HTTPHeader.defaultAcceptEncoding.value == "br;q=1.0, gzip;q=0.9, deflate;q=0.8")
        #expect(HTTPHeader.defaultAcceptLanguage.value.contains(";q=1.0"))
    }
}
