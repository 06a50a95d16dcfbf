import CurlewCore
import Foundation
import Testing

@Suite("Messages of OAuth 2")
struct OAuth2MessageTests {
    private let now = Date(timeIntervalSince1970: 0)
    private let instant = ContinuousClock.now

    // MARK: Parameters

    /// RFC 6749, appendix B.
    @Test func parametersAreEncodedAsInRFC6749() {
        #expect(OAuth2Parameters.encoded(" %&+£€") == "+%25%26%2B%C2%A3%E2%82%AC")
        #expect(OAuth2Parameters.encoded("aZ09-._*~:/") == "aZ09-._*%7E%3A%2F")
    }

    @Test func eachParameterOccursOnce() {
        var parameters = OAuth2Parameters(["grant_type": "a", "x": "1"])
        parameters["x"] = "2"
        parameters["empty"] = ""
        parameters.add(["x": "3", "b": "4", "a": "5"])
        #expect(parameters.text == "grant_type=a&x=2&a=5&b=4")
        parameters["x"] = nil
        #expect(parameters["x"] == nil && parameters.text == "grant_type=a&a=5&b=4")
    }

    // MARK: Tokens

    private let endpoint = URL(filePath: "/token")

    private func response(
        _ body: String, status: Int = 200, secrets: [String] = []
    ) throws(CurlewError) -> OAuth2Response {
        try OAuth2Response(Data(body.utf8), status: status, url: endpoint, secrets: secrets)
    }

    private func granted(
        _ members: String, replacing former: OAuth2Token? = nil, skew: Duration = .seconds(60)
    ) throws(CurlewError) -> OAuth2Token {
        try response("{\"access_token\":\"a\",\(members)}").token(
            .clientCredentials, replacing: former, requested: "asked", skew: skew, at: now)
    }

    @Test(arguments: [
        ("3600", 3600.0, 3540.0), ("\"3600\"", 3600, 3540), ("3600.5", 3600.5, 3540.5), ("30", 30, 15),
        ("120", 120, 60), ("1", 1, 0.5),
        ("1e300", 3_155_760_000, 3_155_759_940),
    ])
    func expiresInDecidesRefreshDate(_ text: String, _ expires: Double, _ refresh: Double) throws {
        let token = try granted("\"expires_in\":\(text)")
        #expect(token.expires == Date(timeIntervalSince1970: expires))
        #expect(token.refreshDate == Date(timeIntervalSince1970: refresh))
        #expect(!token.requiresRefresh(at: now))
        #expect(token.requiresRefresh(at: Date(timeIntervalSince1970: refresh)))
    }

    @Test(arguments: ["null", "0", "-1", "0.99", "1e-9", "\"soon\"", "[]", "\"nan\""]) func invalidExpiresInIsIgnored(
        _ text: String
    ) throws {
        let token = try granted("\"expires_in\":\(text)")
        #expect(token.expires == nil && !token.requiresRefresh(at: .distantFuture))
    }

    @Test func negativeSkewIsZero() throws {
        let token = try granted("\"expires_in\":100", skew: .seconds(-5))
        #expect(token.refreshDate == token.expires)
    }

    @Test func tokenKeepsValuesThatResponseOmits() throws {
        let former = OAuth2Token(accessToken: "o", refreshToken: "r", scope: "s", idToken: "i", grant: .deviceCode)
        let next = try granted("\"token_type\":\"BEARER\"", replacing: former)
        #expect(next.refreshToken == "r" && next.scope == "s" && next.idToken == "i" && next.grant == .deviceCode)
        let first = try granted("\"x\":1")
        #expect(first.scope == "asked" && first.grant == .clientCredentials)
        let other = try granted("\"refresh_token\":\"r2\",\"scope\":\"less\"", replacing: former)
        #expect(other.refreshToken == "r2" && other.scope == "less")
    }

    @Test("a refusal is recognized whatever the status", arguments: [200, 400, 401, 500])
    func refusals(status: Int) throws {
        let failure = try #require(throws: CurlewError.self) {
            try response(
                #"{"error":"invalid_grant","error_description":"r3fr35h is old","error_uri":"https://e.com/e"}"#,
                status: status, secrets: ["r3fr35h"])
        }
        #expect(failure.code == .authenticationFailed && failure.responseCode == status)
        let error = try #require(failure.oauth2Error)
        #expect(error.code == .invalidGrant && error.uri?.absoluteString == "https://e.com/e")
        #expect(error.details == "<redacted> is old" && "\(error)" == "invalid_grant: <redacted> is old")
    }

    @Test("a secret in a refusal is redacted whatever surrounds it", arguments: ["", "x", "é", "\u{301}", "\u{200D}"])
    func secretsInRefusals(neighbor: String) throws {
        let text = neighbor + "r3fr35h" + neighbor
        let body = #"{"error":"\#(text)","error_description":"\#(text)","error_uri":"https://e.com/r3fr35h"}"#
        let failure = try #require(throws: CurlewError.self) {
            try response(body, status: 400, secrets: ["r3fr35h"])
        }
        let error = try #require(failure.oauth2Error)
        // Strings are equal if they are canonically equivalent, so bytes are compared.
        let expected = Array("\(neighbor)<redacted>\(neighbor)".utf8)
        #expect(Array(error.code.rawValue.utf8) == expected)
        #expect(Array(try #require(error.details).utf8) == expected)
        #expect(error.uri?.absoluteString == "https://e.com/%3Credacted%3E")
        #expect(!"\(failure)".utf8.contains("r3fr35h".utf8))
    }

    @Test(
        "a secret that is part of a registered code does not hide the code",
        arguments: [
            ("invalid_grant", "invalid_grant"), ("slow_down", "slow_down"), ("no_grant", "no_<redacted>"),
            ("Invalid_grant", "Invalid_<redacted>"), ("invalid_grant ", "invalid_<redacted> "),
        ])
    func secretsInCodes(text: String, code: String) throws {
        let body = #"{"error":"\#(text)","error_description":"grant"}"#
        let failure = try #require(throws: CurlewError.self) {
            try response(body, status: 400, secrets: ["invalid_grant!", "slow", "grant"])
        }
        #expect(failure.oauth2Error?.code.rawValue == code && failure.oauth2Error?.details == "<redacted>")
    }

    @Test(
        "a response that is not an OAuth 2 message is an error without a refusal",
        arguments: [
            (200, "[1]", CurlewError.Code.decodingFailed), (200, "<html>", .decodingFailed), (200, "", .decodingFailed),
            (200, #"{"a":"#, .decodingFailed), (204, "null", .decodingFailed), (500, "{}", .unacceptableStatus),
            (302, #"{"access_token":"a"}"#, .unacceptableStatus), (400, #"{"error":7}"#, .unacceptableStatus),
        ])
    func noMessages(status: Int, body: String, code: CurlewError.Code) throws {
        let failure = try #require(throws: CurlewError.self) { try response(body, status: status) }
        #expect(failure.code == code && failure.responseCode == status && failure.oauth2Error == nil)
    }

    @Test("a response that is nested too deeply is an error", arguments: [("[", "]"), (#"{"a":"#, "}")])
    func deepResponses(opening: String, closing: String) throws {
        func nested(_ depth: Int) -> String {
            let (begin, end) = (String(repeating: opening, count: depth), String(repeating: closing, count: depth))
            return #"{"access_token":"a","x":\#(begin)1\#(end)}"#
        }
        #expect(throws: Never.self) { try response(nested(100)) }
        let failure = try #require(throws: CurlewError.self) { try response(nested(100_000)) }
        #expect(failure.code == .decodingFailed)
    }

    @Test func storedTokenIsReadUnchanged() throws {
        let token = OAuth2Token(
            accessToken: "SECRET", refreshToken: "SECRET", expires: now, scope: "read", idToken: "SECRET")
        let stored = try JSONEncoder().encode(token)
        #expect(try JSONDecoder().decode(OAuth2Token.self, from: stored) == token)
        #expect(token.refreshDate == now.addingTimeInterval(-60))
        var dumped = ""
        dump(token, to: &dumped)
        for text in ["\(token)", String(reflecting: token), dumped] { #expect(!text.contains("SECRET")) }
        #expect(OAuth2Token.unissued.requiresRefresh(at: now))
    }

    // MARK: Devices

    private func login(_ members: String) throws(CurlewError) -> OAuth2DeviceLogin {
        try response("{\(members)}").deviceLogin(at: now, instant)
    }

    @Test func deviceLoginIsParsed() throws {
        let required = #""device_code":"SECRET","user_code":"SECRET","expires_in":600"#
        let login = try login(required + #","verification_url":"https://e.com/d""#)
        #expect(login.interval == .seconds(5) && login.expires == now.addingTimeInterval(600))
        #expect(login.deadline == instant + .seconds(600))
        var dumped = ""
        dump(login, to: &dumped)
        #expect(!"\(login)\(dumped)".contains("SECRET"))
        let failure = try #require(throws: CurlewError.self) { try self.login(required) }
        #expect(failure.code == .decodingFailed && failure.reason.contains("verification_uri"))
    }

    @Test(arguments: [("0.001", 1.0), ("1", 1), ("\"7\"", 7), ("0", 5), ("-3", 5), ("null", 5)])
    func deviceIntervalIsParsed(_ text: String, _ seconds: Double) throws {
        let members = #""device_code":"d","user_code":"u","expires_in":600,"verification_uri":"https://e.com/d""#
        #expect(try login(members + ",\"interval\":\(text)").interval == .seconds(seconds))
    }

    @Test("a device asks more slowly when the server wants it or has failed")
    func paceOfADevice() {
        func after(_ errors: [CurlewError], from seconds: Int = 5) -> Duration? {
            var polling = DevicePolling(interval: .seconds(seconds))
            for error in errors where !polling.continues(after: error) { return nil }
            return polling.interval
        }
        func refusal(_ code: OAuth2Error.Code, status: Int = 400) -> CurlewError {
            .refused(OAuth2Error(code), url: endpoint, status: status)
        }
        func failure(_ code: CurlewError.Code, status: Int? = nil) -> CurlewError {
            CurlewError(code, phase: .receive, url: endpoint, responseCode: status)
        }
        let (slowDown, busy) = (refusal(.slowDown), failure(.unacceptableStatus, status: 503))
        #expect(after([refusal(.authorizationPending)]) == .seconds(5))
        #expect(after([slowDown]) == .seconds(10))
        #expect(after([slowDown, busy]) == .seconds(20))
        #expect(after(Array(repeating: busy, count: 10)) == .seconds(60))
        for error in [
            refusal(.serverError), refusal(.temporarilyUnavailable), refusal(.invalidRequest, status: 500),
            failure(.unacceptableStatus, status: 429), failure(.connectFailed), failure(.idleTimedOut),
        ] {
            #expect(after([error]) == .seconds(10), "\(error)")
        }
        for error in [
            refusal(.accessDenied), refusal(.init(rawValue: "x")), failure(.unacceptableStatus, status: 404),
            failure(.decodingFailed, status: 200), failure(.cancelled),
        ] {
            #expect(after([error]) == nil, "\(error)")
        }
        #expect(after([busy], from: 0) == .seconds(1))
        #expect(after([busy], from: 90) == .seconds(90))
    }

    // MARK: Redirects

    @Test(arguments: [
        ("?code=a%20b&state=s", OAuth2Redirect.code("a b")), ("?state=s&code=a+b", .code("a b")),
        ("?code=a&state=t", .foreign(parameter: "state")), ("?code=a", .foreign(parameter: "state")),
        ("", .foreign(parameter: "state")), ("#code=a&state=s", .foreign(parameter: "state")),
        ("?state=s", .malformed), ("?code=a&code=b&state=s", .malformed), ("?code=a&state=s&iss=x", .code("a")),
        ("?error=access_denied&state=s&code=a", .refused(OAuth2Error(.accessDenied))),
        // Names may be encoded.
        ("?c%6Fde=a&%73tate=s", .code("a")), ("?c%6Fde=a&code=b&state=s", .malformed),
        ("?error=a&err%6Fr=b&code=a&state=s", .malformed), ("?error=a&error=a&code=a&state=s", .malformed),
        ("?code=a&state=s&st%61te=t", .malformed), ("?code=a&state=s&state=s", .malformed),
        ("?code=&code=a&state=s", .malformed), ("?code=a&state=s&iss=x&iss=x", .malformed),
        ("?code=a&state=s&other=x&other=%FF", .code("a")),
        // Bytes that are not UTF-8.
        ("?error=%FF&code=a&state=s", .malformed), ("?code=%FF&state=s", .malformed),
        ("?code=a&state=%FF", .malformed), ("?code=a&state=s&iss=%FF", .malformed),
        ("?code=a&state=s&%FF=x", .code("a")),
        ("?error=access_denied&error_description=%FF&state=s", .refused(OAuth2Error(.accessDenied))),
    ])
    func redirectURLIsParsed(_ end: String, _ redirect: OAuth2Redirect) throws {
        let url = try #require(URL(string: "https://app.example/\(end)"))
        #expect(OAuth2Redirect(url, state: "s", issuer: nil) == redirect)
    }

    /// RFC 9207, 2.4.
    @Test(
        "a redirect is accepted only if it names the known issuer",
        arguments: [
            ("code=a&iss=https%3A%2F%2Fe.com", OAuth2Redirect.code("a")), ("code=a&iss=https://e.com", .code("a")),
            ("error=access_denied&iss=https%3A%2F%2Fe.com", .refused(OAuth2Error(.accessDenied))),
            ("code=a", .foreign(parameter: "iss")), ("code=a&iss=", .foreign(parameter: "iss")),
            ("code=a&iss=https%3A%2F%2Fe.com%2F", .foreign(parameter: "iss")),
            ("code=a&iss=HTTPS%3A%2F%2Fe.com", .foreign(parameter: "iss")),
            ("code=a&iss=https://e.com&iss=https://e.com", .malformed),
            ("error=access_denied", .foreign(parameter: "iss")),
        ])
    func issuers(_ query: String, _ redirect: OAuth2Redirect) throws {
        let url = try #require(URL(string: "https://app.example/?state=s&\(query)"))
        #expect(OAuth2Redirect(url, state: "s", issuer: "https://e.com") == redirect)
    }

    /// U+212A is canonically equivalent to K, and U+00E9 to e with U+0301.
    @Test(
        "state and issuer are compared as bytes",
        arguments: [
            ("K", "K", true), ("K", "%4B", true), ("K", "%E2%84%AA", false), ("\u{E9}", "%C3%A9", true),
            ("\u{E9}", "e%CC%81", false), ("e\u{301}", "%C3%A9", false),
        ])
    func equivalentTexts(expected: String, sent: String, isSame: Bool) throws {
        let url = try #require(URL(string: "https://app.example/?code=a&state=\(sent)&iss=\(sent)"))
        #expect(
            OAuth2Redirect(url, state: expected, issuer: nil) == (isSame ? .code("a") : .foreign(parameter: "state")))
        let named = try #require(URL(string: "https://app.example/?code=a&state=s&iss=\(sent)"))
        #expect(
            OAuth2Redirect(named, state: "s", issuer: expected) == (isSame ? .code("a") : .foreign(parameter: "iss")))
    }
}
