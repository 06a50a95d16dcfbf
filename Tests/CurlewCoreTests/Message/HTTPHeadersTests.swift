internal import CurlewCore
internal import Foundation
internal import Testing

@Suite("Header fields", .timeLimit(.minutes(4)))
struct HTTPHeadersTests {
    @Test("repeated names of a request's fields are merged, at the first position with the last value")
    func building() {
        let headers = HTTPHeaders([
            HTTPHeader(name: "A", value: "1"), HTTPHeader(name: "b", value: "2"), HTTPHeader(name: "a", value: "3"),
        ])
        #expect(headers.map(\.description) == ["a: 3", "b: 2"])
        #expect(headers["B"] == "2" && headers.value(for: "A") == "3" && headers["c"] == nil)
        #expect(headers.description == "a: 3\nb: 2")
        #expect(HTTPHeaders(["X": "1"]).dictionary == ["X": "1"])
        let literal: HTTPHeaders = ["X": "1", "x": "2"]
        #expect(literal.count == 1 && literal["X"] == "2")
        let array: HTTPHeaders = [.accept("a"), .accept("b")]
        #expect(array.values(for: "accept") == ["b"])
    }

    @Test("received fields keep their duplicates and their order")
    func received() {
        let headers = HTTPHeaders(received: [
            HTTPHeader(name: "Set-Cookie", value: "a=1"), HTTPHeader(name: "Vary", value: "x"),
            HTTPHeader(name: "set-cookie", value: "b=2"),
        ])
        #expect(headers.values(for: "SET-COOKIE") == ["a=1", "b=2"])
        #expect(headers.combinedValue(for: "set-cookie") == "a=1, b=2")
        #expect(headers.combinedValue(for: "none") == nil)
        #expect(headers.value(for: "set-cookie") == "a=1")
        #expect(headers.contains(name: "vary") && !headers.contains(name: "var"))
    }

    @Test("fields can be added, appended, replaced and removed")
    func changing() {
        var headers: HTTPHeaders = ["b": "1"]
        headers.add(name: "A", value: "2")
        headers.add(.userAgent("u"))
        headers.append(name: "a", value: "3")
        headers.add(name: "B", value: "4")
        #expect(headers.map(\.name) == ["B", "A", "User-Agent", "a"])
        #expect(headers.sortedByName().map(\.name) == ["A", "a", "B", "User-Agent"])
        headers["a"] = nil
        #expect(headers.map(\.name) == ["B", "User-Agent"])
        headers["B"] = "5"
        headers.remove(name: "user-agent")
        #expect(headers.map(\.description) == ["B: 5"])
        #expect(headers[headers.startIndex].value == "5")
    }

    @Test("setting a field removes all others of its name") func settingOneOfSeveral() {
        var headers = HTTPHeaders(received: [
            HTTPHeader(name: "A", value: "1"), HTTPHeader(name: "B", value: "2"), HTTPHeader(name: "a", value: "3"),
            HTTPHeader(name: "A", value: "4"),
        ])
        headers["A"] = "5"
        #expect(headers.map(\.description) == ["A: 5", "B: 2"])
    }

    static let headerTable: [(HTTPHeader, String)] = [
        (.accept("a/b"), "Accept: a/b"),
        (
            .authorization(username: "Aladdin", password: "open sesame"),
            "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="
        ),
        (.authorization(bearerToken: "t"), "Authorization: Bearer t"),
        (.authorization("X y"), "Authorization: X y"),
        (.contentType("a/b"), "Content-Type: a/b"),
        (.userAgent("u/1"), "User-Agent: u/1"),
    ]

    @Test("members for well-known fields set the right name and value", arguments: headerTable)
    func wellKnown(header: HTTPHeader, text: String) { #expect("\(header.name): \(header.value)" == text) }

    @Test("quality values decrease by a tenth, and are never below 0.1")
    func quality() {
        #expect(["de", "en", "fr"].qualityEncoded() == "de;q=1.0, en;q=0.9, fr;q=0.8")
        #expect([String]().qualityEncoded() == "")
        #expect((0..<12).map(String.init).qualityEncoded().hasSuffix("11;q=0.1"))
    }

    static let validityTable: [(String, String, Bool)] = [
        ("X-Ok", "any ü \t text", true), ("X-Ok", "", true), ("", "v", false), ("X y", "v", false), ("X:", "v", false),
        ("X\r\nY", "v", false), ("X", "a\r\nY: b", false), ("X", "a\nb", false), ("X", "a\rb", false),
        ("X", "a\0b", false), ("Ü", "v", false),
    ]

    @Test("a name must be a token, and a value must not forge a line", arguments: validityTable)
    func validity(name: String, value: String, isValid: Bool) {
        #expect(HTTPHeader(name: name, value: value).isValid == isValid)
    }

    @Test("safe, idempotent and valid methods are recognized")
    func methods() {
        let all: [HTTPMethod] = [.connect, .delete, .get, .head, .options, .patch, .post, .put, .query, .trace]
        #expect(
            all.filter(\.isIdempotent).map(\.rawValue) == ["DELETE", "GET", "HEAD", "OPTIONS", "PUT", "QUERY", "TRACE"])
        #expect(all.filter(\.isSafe).map(\.rawValue) == ["GET", "HEAD", "OPTIONS", "QUERY", "TRACE"])
        #expect(all.allSatisfy { $0.isValid })
        for name in ["", "GE T", "GET\r\nX: y", "GET\0"] { #expect(!HTTPMethod(rawValue: name).isValid) }
    }

    @Test("case is folded for ASCII only")
    func folding() {
        #expect(ASCII.equalsIgnoringCase("Content-TYPE", "content-type"))
        #expect(!ASCII.equalsIgnoringCase("a", "ab") && !ASCII.equalsIgnoringCase("[", "{"))
        #expect(!ASCII.equalsIgnoringCase("Ä", "ä"))
        #expect(ASCII.lowercased("ÄbC") == "Äbc" && ASCII.lowercased("abc") == "abc")
    }

    @Test("a request's own fields override those of the session")
    func effective() throws {
        let session = DefaultHeaders(["Accept": "a", "X": "session"])
        var request = TransferRequest(
            identifier: TaskIdentifier(rawValue: 1), url: try #require(.init(string: "http://x")))
        request.headers = ["x": "own"]
        #expect(request.effectiveHeaders.count == 1)
        request.defaultHeaders = session
        #expect(request.effectiveHeaders.sortedByName().map(\.description) == ["Accept: a", "x: own"])
        #expect(TaskIdentifier(rawValue: 1) < TaskIdentifier(rawValue: 2) && "\(TaskIdentifier(rawValue: 7))" == "7")
    }
}
