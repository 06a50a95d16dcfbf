import CurlewCore
import Foundation
import Testing

@testable import CurlewTool

@Suite("The list of a cache")
struct CacheTableTests {
    private func row(asJSON: Bool, vary: [String], url: String = "http://x.y/\u{9B}2J\u{202E}\u{7F}é") -> String {
        let item = CacheTable.Item(
            url: url, status: 200, size: 5, stored: Date(timeIntervalSince1970: 0),
            freshUntil: Date(timeIntervalSince1970: 60), vary: vary, isForCredentials: false)
        var table = CacheTable(asJSON: asJSON, isTerminal: true)
        return table.row(item)
    }

    @Test("control characters in a server's text are escaped in JSON and keep their value") func escapesJSON() throws {
        let text = row(asJSON: true, vary: ["\u{9D}0;title\u{9C}\u{1B}"])
        #expect(text.contains(#"http://x.y/\u009b2J\u202e\u007fé"#))
        #expect(text.contains(#"\u009d0;title\u009c\u001b"#))
        let json = try JSONParser.parse(text)
        #expect(json["url"] == .string("http://x.y/\u{9B}2J\u{202E}\u{7F}é"))
        #expect(json["vary"] == .array([.string("\u{9D}0;title\u{9C}\u{1B}")]))
    }

    @Test func alignsWideNames() {
        let plain = row(asJSON: false, vary: ["accept"], url: "http://x.y/")
        let wide = row(asJSON: false, vary: ["言語"], url: "http://x.y/")
        func place(_ text: String) -> Int? { text.range(of: "http").map { Columns.count(text[..<$0.lowerBound]) } }
        #expect(place(wide) == place(plain))
        #expect(row(asJSON: false, vary: []).hasSuffix("http://x.y/\\u{9b}2J\\u{202e}\\x7fé\n"))
    }
}

@Suite("Reports of failures")
struct ReportTests {
    @Test func errorReportNamesPhaseAndRemedy() {
        let error = CurlewError(
            .connectFailed, phase: .connect, reason: "refused", url: URL(string: "http://u:p@x.y:81/z?secret=1"),
            attempt: 2,
            native: .init(number: 7, name: "CURLE_COULDNT_CONNECT"))
        #expect(
            ErrorReport(error).text(palette: Palette(isColored: false)) == """
                curlew: error: no connection to x.y:81
                  phase: connect; 7 CURLE_COULDNT_CONNECT; refused; after 3 attempts
                  try: Check that the server is running, and that this is the right port.

                """)
    }

    @Test("the report of a pin mismatch has no hint to weaken the check")
    func namesThePinMismatch() {
        var error = CurlewError(
            .certificateUntrusted, phase: .tls, reason: "SSL: public key does not match",
            url: URL(string: "https://x.y"),
            native: .init(number: 90, name: "CURLE_SSL_PINNEDPUBKEYNOTMATCH"))
        error.suggestion = "Ask the owner."
        let report = ErrorReport(error)
        #expect(report.what == "the key of x.y is not the one of --pin")
        #expect(report.hints == ["Ask the owner."])
    }

    @Test("the library's suggestion precedes the hint that names an option")
    func addsItsOwnOptions() {
        let report = ErrorReport(CurlewError(.idleTimedOut, phase: .receive))
        #expect(report.hints.first == CurlewError(.idleTimedOut, phase: .receive).recoverySuggestion)
        #expect(report.hints.last == "a larger --timeout, or --retry")
        let library = CurlewError.Code.allKnown.compactMap { CurlewError($0, phase: .connect).recoverySuggestion }
        #expect(library.allSatisfy { !$0.contains("--") })
    }

    @Test func otherErrorsKeepTheirOwnText() {
        let report = ErrorReport(CurlewError(.validationFailed, phase: .validation, reason: "no\u{1B}[2J"))
        #expect(report.text(palette: Palette(isColored: false)) == "curlew: error: no\\x1b[2J\n  phase: validation\n")
    }

    @Test func usageErrorEscapesTextFromServer() {
        let error = UsageError("403 No\u{1B}[2J way\nsecond", hint: "\u{9B}31m")
        #expect(
            ErrorReport.usage(error, palette: Palette(isColored: false))
                == "curlew: error: 403 No\\x1b[2J way\n  second\n  \\u{9b}31m\n")
    }

    @Test func everyFailureTextBelongsToAReportedCode() {
        let codes = FailureText.rows.map(\.code)
        #expect(Set(codes).count == codes.count)
        // The members of `CurlewError.Code` that libcurl or Curlew can report. A row for another code would never be
        // shown.
        let known: [CurlewError.Code] = [
            .resolveFailed, .connectFailed, .proxyFailed, .addressRefused, .tlsFailed, .certificateUntrusted,
            .certificateExpired, .certificateHostMismatch, .certificateRevoked, .clientCertificateRequired, .sendFailed,
            .receiveFailed, .truncated, .protocolViolation, .contentDecodingFailed, .limitExceeded, .queueTimedOut,
            .connectTimedOut, .firstByteTimedOut, .idleTimedOut, .totalTimedOut, .tooManyRedirects, .redirectRefused,
            .authenticationFailed, .destinationExists, .destinationMissing, .diskFull, .moveFailed, .fileUnreadable,
            .resumeRejected, .notInCache, .webSocketRefused, .webSocketClosed, .unsupported,
        ]
        let ofWebSockets = FailureText.ofWebSockets.map(\.code)
        #expect(Set(ofWebSockets).count == ofWebSockets.count)
        #expect((codes + ofWebSockets).allSatisfy { code in known.contains { $0.rawValue == code } })
    }

    @Test func exitsByCode() {
        func status(_ code: CurlewError.Code) -> CurlewTool.ExitStatus {
            CurlewTool.ExitStatus(CurlewError(code, phase: .connect))
        }
        #expect(status(.connectFailed) == .failure)
        #expect(status(.tooManyRedirects) == .tooManyRedirects)
        for code in [
            CurlewError.Code.connectTimedOut, .firstByteTimedOut, .idleTimedOut, .totalTimedOut, .queueTimedOut,
        ] {
            #expect(status(code) == .timeout)
        }
    }

    @Test func showsUsageErrorsInFull() {
        let error = UsageError("Syntax error: x\na[\n ^", hint: "Do so.")
        #expect(
            ErrorReport.usage(error, palette: Palette(isColored: false))
                == "curlew: error: Syntax error: x\n  a[\n   ^\n  Do so.\n")
    }
}

@Suite("Names of files")
struct DownloadNameTests {
    @Test(arguments: [
        ("a.txt", [], "a.txt"), ("a.txt", ["a.txt"], "a-1.txt"), ("a.txt", ["a.txt", "a-1.txt"], "a-2.txt"),
        ("a", ["a"], "a-1"), (".bashrc", [".bashrc"], ".bashrc-1"), ("d.e/a", ["d.e/a"], "d.e/a-1"),
        ("a.tar.gz", ["a.tar.gz"], "a.tar-1.gz"),
    ])
    func downloadNameIsNumberedIfTaken(_ name: String, _ taken: [String], _ expected: String) {
        #expect(DownloadName.free(name) { taken.contains($0) } == expected)
    }

    @Test("concurrent downloads reserve different names, and a retry gets its reserved name again")
    func reservesNames() {
        let names = NameReservations()
        let plan = RequestPlan(method: "GET", url: "http://a/x", headers: [])
        let (one, other) = (DownloadJob(plan: plan, path: "x"), DownloadJob(plan: plan, path: "x"))
        #expect(names.reserve("x.txt", for: one) { _ in false } == "x.txt")
        #expect(names.reserve("x.txt", for: other) { $0 == "x-1.txt" } == "x-2.txt")
        #expect(names.reserve("x.txt", for: one) { _ in false } == "x.txt")
    }

    @Test(arguments: [
        ("http://x.y/a/b.zip?c=d", "b.zip"), ("http://x.y/", "download"), ("http://x.y/a/", "a"),
        ("http://x.y/..", "download"), ("http://x.y/a%20%C3%A9.zip", "a é.zip"), ("http://x.y/%2E%2E", "download"),
        ("http://x.y/%1B%5B2Jb", "[2Jb"), ("http://x.y/a%2Fb", "b"), ("http://x.y/%FF", "%FF"),
    ])
    func downloadNameIsLastPathComponent(_ url: String, _ expected: String) {
        #expect(DownloadName.expected(for: url) == expected)
    }

    @Test func pathIsShownRelativeToFolder() {
        #expect(DownloadName.relative("/a/b/c", to: "/a/b") == "c")
        #expect(DownloadName.relative("/a/bc", to: "/a/b") == "/a/bc")
        #expect(DownloadName.relative("/c", to: "/") == "c")
    }
}

@Suite("Locales, and credentials in URLs")
struct SurroundingsTests {
    @Test(arguments: [
        (["LANG": "de_CH.UTF-8"], true), (["LANG": "C"], false), ([:], false), (["LANG": "C.utf8"], true),
        (["LC_ALL": "C", "LANG": "en_US.UTF-8"], false), (["LC_ALL": "", "LANG": "en_US.UTF-8"], true),
    ])
    func localeDecidesUnicodeOutput(_ environment: [String: String], _ expected: Bool) {
        #expect(Terminal.hasUnicode(environment) == expected)
    }

    @Test(arguments: [
        ("http://u:p%40@x.y/a@b", "http://x.y/a@b", "u", "p@"), ("u@x.y", "x.y", "u", ""),
        ("u:a:b@x.y:1", "x.y:1", "u", "a:b"),
    ])
    func takesCredentialsOutOfURLs(_ typed: String, _ rest: String, _ user: String, _ password: String) {
        var url = typed
        let auth = URLCredentials.take(from: &url)
        #expect(url == rest)
        #expect(auth == AuthSettings(scheme: .basic, username: user, secret: password))
    }

    @Test(arguments: ["x.y/a@b", "http://x.y?q=a@b", ":8080/@", "x.y"])
    func atSignOutsideCredentialsIsKept(_ typed: String) {
        var url = typed
        #expect(URLCredentials.take(from: &url) == nil)
        #expect(url == typed)
    }
}
