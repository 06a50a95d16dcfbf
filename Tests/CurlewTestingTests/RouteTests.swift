import Curlew
import CurlewCore
import Foundation
import Testing

@testable import CurlewTesting

@Suite("TestServer: standard routes", .timeLimit(.minutes(4)))
struct RouteTests {
    struct Case: CustomTestStringConvertible {
        var method = "GET"
        var target: String
        var fields: [String] = []
        var body: String?
        var status = 200
        /// Fields that the response must have, with their values.
        var expected: [String: String] = [:]
        /// Texts that the body must contain.
        var contains: [String] = []

        var testDescription: String { "\(method) \(target) \(fields.joined(separator: " "))" }
    }

    static let cases: [Case] = [
        Case(
            target: "/get?a=1&b=x+y&a=2", contains: ["\"a\": [\"1\", \"2\"]", "\"b\": \"x y\"", "/get?a=1&b=x+y&a=2"]),
        Case(method: "HEAD", target: "/get"),
        Case(method: "POST", target: "/get", status: 405),
        Case(target: "/nowhere", status: 404),
        Case(
            method: "POST",
            target: "/post",
            fields: ["Content-Type: application/x-www-form-urlencoded"],
            body: "n=%C3%A9&m=+",
            contains: ["\"form\": {\"n\": \"é\", \"m\": \" \"}", "\"data\": \"\""]
        ),
        Case(
            method: "PUT",
            target: "/put",
            fields: ["Content-Type: application/json"],
            body: "{\"x\":[1,null]}",
            contains: ["\"json\": {\"x\":[1,null]}", "\"data\": \"{\\\"x\\\":[1,null]}\""]
        ),
        Case(method: "PATCH", target: "/patch", body: "\u{1}\"", contains: ["\\u0001\\\""]),
        Case(method: "DELETE", target: "/delete", contains: ["\"method\": \"DELETE\""]),
        Case(
            method: "QUERY", target: "/anything/a/b", body: "q", contains: ["\"method\": \"QUERY\"", "\"data\": \"q\""]),
        Case(
            method: "POST",
            target: "/post",
            fields: ["Content-Type: multipart/form-data; boundary=\"b x\""],
            body: "--b x\r\nContent-Disposition: form-data; name=\"t\"\r\n\r\nv--b\r\n--b x\r\n"
                + "Content-Disposition: form-data; name=f; filename=\"a%22.txt\"\r\nContent-Type: text/plain\r\n\r\nfile\r\n"
                + "--b x\r\nContent-Disposition: form-data; name=\"e\"\r\n\r\n\r\n--b x--\r\n",
            contains: ["\"form\": {\"t\": \"v--b\", \"e\": \"\"}", "\"files\": {\"f\": \"file\"}"]
        ),
        Case(target: "/headers", fields: ["A: 1", "a: 2"], contains: ["\"A\": \"1, 2\""]),
        Case(target: "/ip", contains: ["\"origin\": \"127.0.0.1\""]),
        Case(target: "/user-agent", fields: ["User-Agent: me"], contains: ["\"user-agent\": \"me\""]),
        Case(
            method: "POST",
            target: "/upload",
            body: "abc",
            contains: ["\"bytes\": 3", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"]
        ),
        Case(target: "/status/201", status: 201, contains: ["\"url\""]),
        Case(target: "/status/204", status: 204),
        Case(target: "/status/418", status: 418, expected: ["Content-Length": "0"]),
        Case(target: "/status/401", status: 401, expected: ["WWW-Authenticate": "Basic realm=\"Fake Realm\""]),
        Case(method: "POST", target: "/status/307", status: 307, expected: ["Location": "http://test/post"]),
        Case(target: "/status/x", status: 400),
        Case(target: "/delay/0.01", contains: ["/delay/0.01"]),
        Case(
            target: "/response-headers?X-A=b&Content-Type=text/plain",
            expected: ["X-A": "b", "Content-Type": "text/plain"]),
        Case(target: "/response-headers?X=a%0D%0Ab", status: 400),
        Case(target: "/bytes/5?seed=7", expected: ["Content-Length": "5"]),
        Case(target: "/bytes/-1", status: 400),
        Case(
            target: "/stream/2", expected: ["Transfer-Encoding": "chunked"], contains: ["\"id\": 0}\n{", "\"id\": 1}"]),
        Case(target: "/ndjson/3", contains: ["{\"id\": 0}\n{\"id\": 1}\n{\"id\": 2}\n"]),
        Case(target: "/payloads/2", expected: ["Transfer-Encoding": "chunked"], contains: ["}{"]),
        Case(target: "/drip?numbytes=3&duration=0.01", expected: ["Content-Length": "3"], contains: ["***"]),
        Case(
            target: "/sse?count=2&retry=5&event=e",
            expected: ["Content-Type": "text/event-stream"],
            contains: ["retry: 5\n\nid: 0\nevent: e\ndata: {\"id\": 0}\n\nid: 1\n"]
        ),
        Case(target: "/sse?count=3", fields: ["Last-Event-ID: 9223372036854775807"]),
        Case(target: "/sse?count=3", fields: ["Last-Event-ID: 1"], contains: ["id: 2\ndata: {\"id\": 2}\n\n"]),
        Case(target: "/drip?numbytes=100001", status: 400, contains: ["numbytes is a number from 0 to 100000\n"]),
        Case(target: "/drip?numbytes=9223372036854775807&duration=0", status: 400),
        Case(target: "/drip?numbytes=x", status: 400),
        Case(
            target: "/drip?numbytes=1&duration=inf", status: 400, contains: ["duration is a number from 0 to 86400\n"]),
        Case(target: "/drip?numbytes=1&delay=1e25", status: 400, contains: ["delay is a number from 0 to 86400\n"]),
        Case(target: "/sse?count=-1", status: 400, contains: ["count is a number from 0 to 100000\n"]),
        Case(target: "/sse?count=2000000000", status: 400),
        Case(target: "/sse?count=1&delay=nan", status: 400),
        Case(target: "/ndjson/100001", status: 400, contains: ["count is a number from 0 to 100000\n"]),
        Case(target: "/chunked/100001", status: 400),
        Case(target: "/delay/1e25", status: 400, contains: ["seconds is a number from 0 to 86400\n"]),
        Case(target: "/redirect/100001", status: 400, contains: ["count is a number from 0 to 100000\n"]),
        Case(target: "/redirect/1", status: 302, expected: ["Location": "/get"]),
        Case(
            target: "/redirect/3?absolute=true", status: 302,
            expected: ["Location": "http://test/redirect/2?absolute=true"]),
        Case(target: "/absolute-redirect/2", status: 302, expected: ["Location": "http://test/absolute-redirect/1"]),
        Case(method: "PUT", target: "/relative-redirect/1", status: 302, expected: ["Location": "/put"]),
        Case(
            target: "/redirect-to?url=http%3A%2F%2Fx%2F&status_code=308", status: 308,
            expected: ["Location": "http://x/"]),
        Case(target: "/redirect-to?url=http://x/y", status: 302, expected: ["Location": "http://x/y"]),
        Case(target: "/redirect-to?url=a%0Ab", status: 400),
        Case(
            target: "/cookies", fields: ["Cookie: a=b; c=d=e"],
            contains: ["\"cookies\": {\"a\": \"b\", \"c\": \"d=e\"}"]),
        Case(target: "/cookies/set?a=b", status: 302, expected: ["Set-Cookie": "a=b; Path=/", "Location": "/cookies"]),
        Case(target: "/cookies/set/a/b", status: 302, expected: ["Set-Cookie": "a=b; Path=/"]),
        Case(
            target: "/cookies/delete?a",
            status: 302,
            expected: ["Set-Cookie": "a=; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=0; Path=/"]
        ),
        Case(target: "/basic-auth/u/p", status: 401, expected: ["WWW-Authenticate": "Basic realm=\"Fake Realm\""]),
        Case(target: "/basic-auth/u/p", fields: ["Authorization: Basic dTpw"], contains: ["\"authenticated\": true"]),
        Case(target: "/basic-auth/u/q", fields: ["Authorization: Basic dTpw"], status: 401),
        Case(target: "/hidden-basic-auth/u/p", status: 404),
        Case(target: "/hidden-basic-auth/u/p", fields: ["Authorization: basic dTpw"], contains: ["\"user\": \"u\""]),
        Case(target: "/bearer", status: 401, expected: ["WWW-Authenticate": "Bearer"]),
        Case(target: "/bearer", fields: ["Authorization: Bearer t"], contains: ["\"token\": \"t\""]),
        Case(target: "/digest-auth/auth/u/p/SHA-512", status: 400),
        Case(target: "/gzip", expected: ["Content-Encoding": "gzip"]),
        Case(target: "/deflate", expected: ["Content-Encoding": "deflate"]),
        Case(target: "/brotli", expected: ["Content-Encoding": "br"], contains: ["\"brotli\": true"]),
        Case(
            target: "/range/10", expected: ["Content-Length": "10", "ETag": "\"range10-0\"", "Accept-Ranges": "bytes"]),
        Case(
            target: "/range/10", fields: ["Range: bytes=2-4"], status: 206, expected: ["Content-Range": "bytes 2-4/10"]),
        Case(
            target: "/range/10", fields: ["Range: bytes=8-99"], status: 206, expected: ["Content-Range": "bytes 8-9/10"]
        ),
        Case(
            target: "/range/10", fields: ["Range: bytes=-3"], status: 206, expected: ["Content-Range": "bytes 7-9/10"]),
        Case(target: "/range/10", fields: ["Range: bytes=10-"], status: 416, expected: ["Content-Range": "bytes */10"]),
        Case(target: "/range/10", fields: ["Range: bytes=0-1,3-4"], expected: ["Content-Length": "10"]),
        Case(target: "/range/10", fields: ["Range: bytes=4-2"], expected: ["Content-Length": "10"]),
        Case(target: "/range/10", fields: ["Range: bytes=2-", "If-Range: \"range10-0\""], status: 206),
        Case(
            target: "/range/10", fields: ["Range: bytes=2-", "If-Range: \"other\""], expected: ["Content-Length": "10"]),
        Case(target: "/range/10", fields: ["If-None-Match: \"x\", \"range10-0\""], status: 304),
        Case(target: "/download/100", fields: ["Range: bytes=50-"], status: 206, expected: ["Content-Length": "50"]),
        Case(target: "/cache", expected: ["ETag": "\"cache\""], contains: ["\"url\""]),
        Case(target: "/cache", fields: ["If-None-Match: \"y\""], status: 304),
        Case(target: "/cache/60", expected: ["Cache-Control": "public, max-age=60"]),
        Case(target: "/etag/x", expected: ["ETag": "\"x\""]),
        Case(target: "/etag/x", fields: ["If-None-Match: W/\"x\""], status: 304),
        Case(target: "/etag/x", fields: ["If-Match: \"y\""], status: 412),
        Case(method: "PUT", target: "/etag/x", fields: ["If-None-Match: *"], status: 412),
        Case(target: "/json", expected: ["Content-Type": "application/json"], contains: ["\"title\""]),
        Case(target: "/xml", expected: ["Content-Type": "application/xml"], contains: ["<?xml"]),
        Case(target: "/html", contains: ["<h1>"]),
        Case(target: "/encoding/utf8", contains: ["grüße"]),
        Case(target: "/base64/SGVsbG8=", contains: ["Hello"]),
        Case(target: "/image/png", expected: ["Content-Type": "image/png"]),
        Case(target: "/links/3/1", contains: ["<a href=\"/links/3/0\">0</a> 1 <a"]),
        Case(target: "/robots.txt", contains: ["User-agent"]),
        Case(target: "/get?of=http://x/y", contains: ["\"url\": \"http://test/get?of=http://x/y\""]),
        Case(target: "http://elsewhere.test/get", contains: ["\"url\": \"http://elsewhere.test/get\""]),
    ]

    @Test(arguments: cases)
    func standardRoutesRespondAsDocumented(_ given: Case) throws {
        let server = try TestServer()
        let client = try WireClient(port: server.port)
        let response = try client.request(given.method, given.target, headers: given.fields, body: given.body)
        #expect(response.status == given.status, "\(response.text)")
        for (name, value) in given.expected { #expect(response.headers[name] == value) }
        for part in given.contains { #expect(response.text.contains(part), "\(response.text)") }
        // The connection serves another request, so the response had its exact length.
        #expect(try client.request("GET", "/bytes/1").body.count == 1)
    }

    @Test func everyStandardRouteIsTested() throws {
        let covered = Set(Self.cases.map { $0.target })
        let untested = TestServer.standardRoutes.filter { pattern in
            let start = pattern.prefix { $0 != "{" && $0 != "*" }
            return !covered.contains { $0.hasPrefix(start) }
        }
        // Other tests cover these routes, or their response is one fixed line of text.
        let others = [
            "/bomb/{count}", "/chunked/{count}", "/deny", "/encoding/latin1", "/hang", "/head", "/image", "/options",
            "/stream-bytes/{count}", "/trace", "/trailers",
        ]
        #expect(Set(untested).isSubset(of: others), "\(untested)")
    }

    @Test(arguments: ["bomb", "bytes", "stream-bytes", "range", "download"])
    func largeBodyRoutesLimitTheirSize(route: String) throws {
        let server = try TestServer()
        let client = try WireClient(port: server.port)
        #expect(try client.request("GET", "/\(route)/3000000").status == 200)
        for count in ["-1", "\((16 << 30) + 1)", "9223372036854775807", "x"] {
            let answer = try client.request("GET", "/\(route)/" + count)
            #expect(answer.status == 400)
            #expect(answer.body == Data("count is a number from 0 to 17179869184\n".utf8))
        }
    }

    @Test func rangeAndStreamRoutesSendTheSameBytes() throws {
        let server = try TestServer()
        let client = try WireClient(port: server.port)
        let whole = try client.request("GET", "/range/200000?seed=3").body
        #expect(whole == TestServer.patternBytes(count: 200_000, seed: 3))
        let part = try client.request("GET", "/range/200000?seed=3", headers: ["Range: bytes=65000-131999"]).body
        #expect(part == whole[65_000..<132_000])
        #expect(try client.request("GET", "/stream-bytes/200000?seed=3").body == whole)
        #expect(try client.request("GET", "/bytes/200000?seed=3").body == whole)
        #expect(try client.request("GET", "/bytes/200000?seed=4").body != whole)
        #expect(try client.request("GET", "/download/200000?seed=3").body == whole)
    }

    @Test func sendsChunksTrailersAndInterimHeads() throws {
        let server = try TestServer()
        let client = try WireClient(port: server.port)
        #expect(try client.request("GET", "/chunked/4").chunks == [1, 1, 1, 1])
        let trailed = try client.request("GET", "/trailers?X-T=v")
        #expect(trailed.trailers["X-T"] == "v")
        #expect(try client.request("GET", "/status/103").status == 103)
        #expect(try client.response().status == 200)
    }

    @Test func downloadRouteBreaksOffOnRequest() throws {
        let server = try TestServer()
        let client = try WireClient(port: server.port)
        #expect(throws: WireClient.Failure.self) {
            try client.request("GET", "/download/1000?shouldProduceError=true")
        }
        #expect(client.ending == .fin)
        #expect(client.received.suffix(500) == TestServer.patternBytes(count: 500))
    }

    @Test func laterRouteReplacesEarlierOne() throws {
        let server = try TestServer()
        server.route("/get", methods: [.get]) { _ in .text("mine") }
        struct Broken: Error {}
        server.route("/broken") { _ in throw Broken() }
        let client = try WireClient(port: server.port)
        #expect(try client.request("GET", "/get").text == "mine")
        #expect(try client.request("GET", "/broken").status == 500)
        #expect(try client.request("GET", "/put").status == 405)
    }
}

@Suite("TestServer: Digest authentication", .timeLimit(.minutes(4)))
struct DigestRouteTests {
    @Test(arguments: ["MD5", "SHA-256"], ["auth", "auth-int"])
    func digestRouteVerifiesCredentials(algorithm: String, qop: String) throws {
        let server = try TestServer()
        let client = try WireClient(port: server.port)
        let target = "/digest-auth/\(qop)/u/p/\(algorithm)"
        let challenge = try client.request("POST", target, body: "text").headers["WWW-Authenticate"] ?? ""
        let value = { (name: String) in
            TestServer.Request.parameter(name, of: ";" + challenge.dropFirst(7).replacing(",", with: ";")) ?? ""
        }
        #expect(value("algorithm") == algorithm)
        #expect(value("qop") == qop)

        func answer(password: String = "p", body: String = "text", nonce: String? = nil) throws -> WireClient.Response {
            let hash = { (text: String) in Digest.hex(algorithm == "MD5" ? .md5 : .sha256, of: text) ?? "" }
            let nonce = nonce ?? value("nonce")
            let action = "POST:\(target)" + (qop == "auth-int" ? ":" + hash(body) : "")
            let secret = hash("u:\(value("realm")):\(password)")
            let response = hash("\(secret):\(nonce):00000001:c:\(qop):\(hash(action))")
            let field =
                "Authorization: Digest username=\"u\", realm=\"\(value("realm"))\", nonce=\"\(nonce)\", "
                + "uri=\"\(target)\", qop=\(qop), nc=00000001, cnonce=\"c\", response=\"\(response)\", "
                + "opaque=\"\(value("opaque"))\""
            return try client.request("POST", target, headers: [field], body: "text")
        }
        #expect(try answer().status == 200)
        #expect(try answer(password: "q").status == 401)
        #expect(try answer(body: "other").status == (qop == "auth-int" ? 401 : 200))
        let stale = try answer(nonce: "made-up")
        #expect(stale.headers["WWW-Authenticate"]?.contains("stale=true") == true)
    }
}
