import Foundation
import Testing
@testable import CurlewTool

@Suite("Parsing of commands")
struct CommandBuilderTests {
    @Test func methodIsDistinguishedFromURL() throws {
        #expect(try invocation("example.org").method == nil)
        #expect(try invocation("example.org").urls == ["example.org"])
        #expect(try invocation("PUT", "example.org").method == "PUT")
        #expect(try invocation("put", "example.org").method == "PUT")
        #expect(try invocation("BREW", "example.org").method == "BREW")
        // In lower case only the known methods are methods, so a host of letters is a URL.
        let local = try invocation("localhost", "a=1")
        #expect(local.method == nil)
        #expect(local.urls == ["localhost"])
        #expect(local.items.map(\.key) == ["a"])
    }

    @Test func downloadTakesSeveralURLs() throws {
        let many = try invocation("--download", "http://a/1", "https://b/2", "X-A:1", "c.org/3", ":8080/4")
        #expect(many.urls == ["http://a/1", "https://b/2", "c.org/3", ":8080/4"])
        #expect(many.items.map(\.key) == ["X-A"])
        #expect(throws: UsageError.self) { try invocation("http://a/1", "http://b/2") }
        #expect(throws: UsageError.self) { try invocation("-d", "-o", "f", "http://a/1", "http://b/2") }
    }

    @Test(
        "a further word of --download that has the form of a URL is a URL",
        arguments: [
            "host:9901/b", "b.org/2?x=1", "b.org:80/", "localhost:8080/x", "localhost/x", "[::1]:8080/x", "[::1]/x",
            "B.org:9901?q",
        ])
    func furtherURLs(word: String) throws {
        let many = try invocation("--download", "host:9903/a", word)
        #expect(many.urls == ["host:9903/a", word] && many.items.isEmpty)
    }

    @Test(
        "a further word of --download that may be a URL or an item is an error",
        arguments: ["host:9901", "b.org:8080", "X-Part:1/2", "localhost:80"])
    func ambiguousURLs(word: String) throws {
        let error = #expect(throws: UsageError.self) { try invocation("-d", "host:9903/a", word) }
        #expect(error?.message.contains("may be a URL or a request item") == true)
        // With the space that the message suggests, or without `--download`, the word is a request item.
        let header = word.replacing(":", with: ": ", maxReplacements: 1)
        #expect(try invocation("-d", "host:9903/a", header).items.map(\.kind) == [.header])
        #expect(try invocation("host:9903/a", word).items.map(\.kind) == [.header])
    }

    @Test(
        "a further word of --download that has the form of an item is an item",
        arguments: ["X-Count:1", "X-Key:a/b", "a=b/c?d", "a==b", "a:=[1]", "@dir/file", "Depth:99999", "if-range:x/1"])
    func itemsOfDownloads(word: String) throws {
        let one = try invocation("-d", "host:9903/a", word)
        #expect(one.urls.count == 1 && one.items.map(\.original) == [word])
    }

    @Test func readsCommands() throws {
        #expect(try CommandBuilder.command(for: ["--version"]) == .version)
        #expect(try CommandBuilder.command(for: ["--help"]) == .help(topic: nil))
        #expect(try CommandBuilder.command(for: ["help"]) == .help(topic: nil))
        #expect(try CommandBuilder.command(for: ["help", "items"]) == .help(topic: "items"))
        #expect(try CommandBuilder.command(for: ["man"]) == .man)
        #expect(try CommandBuilder.command(for: ["completions", "zsh"]) == .completions(.zsh))
        #expect(throws: UsageError.self) { try CommandBuilder.command(for: ["completions", "csh"]) }
        #expect(throws: UsageError.self) { try CommandBuilder.command(for: ["completions"]) }
        #expect(throws: UsageError.self) { try CommandBuilder.command(for: []) }
    }

    @Test func lastOfContradictingOptionsWins() throws {
        #expect(try invocation("-h", "-b", "x").output.parts == [.responseBody])
        #expect(try invocation("-j", "-f", "x").body.kind == .form)
        #expect(try invocation("-f", "--no-form", "x").body.kind == nil)
        #expect(try invocation("-x", "x").body.compression == .ifSmaller)
        #expect(try invocation("-xx", "x").body.compression == .always)
    }

    @Test func repeatedVerboseShowsMore() throws {
        #expect(try invocation("-v", "x").output.parts == Set(OutputPart.allCases).subtracting([.metadata]))
        #expect(try invocation("-vv", "x").output.parts == Set(OutputPart.allCases))
        #expect(try invocation("-v", "x").output.printsHops)
    }

    @Test func readsCredentialsInAnyOrder() throws {
        let expected = AuthSettings(scheme: .digest, username: "u", secret: "p:q")
        #expect(try invocation("-a", "u:p:q", "-A", "digest", "x").auth == expected)
        #expect(try invocation("-A", "digest", "-a", "u:p:q", "x").auth == expected)
        let token = AuthSettings(scheme: .bearer, username: "", secret: "t:1")
        #expect(try invocation("-a", "t:1", "-A", "bearer", "x").auth == token)
        #expect(try invocation("-A", "bearer", "-a", "t:1", "x").auth == token)
        #expect(try invocation("-a", "u", "x").auth == AuthSettings(scheme: .basic, username: "u", secret: nil))
        #expect(try invocation("-a", "u:", "x").auth == AuthSettings(scheme: .basic, username: "u", secret: ""))
    }

    @Test func readsNetworkSettings() throws {
        let network = try invocation(
            "--timeout=0", "--connect-timeout=500ms", "-F", "--max-redirects", "3", "--retry=2", "--limit-rate", "1k",
            "--proxy", "none", "--resolve", "Example.org:443:127.0.0.1", "--resolve", "v6:80:[::1]", "--http-version",
            "2",
            "x"
        ).network
        #expect(network.timeout == .some(.none))
        #expect(network.connectTimeout == .some(.milliseconds(500)))
        #expect(network.follows)
        #expect(network.maximumRedirects == 3)
        #expect(network.retries == 2)
        #expect(network.rateLimit == 1024)
        #expect(network.proxy == NetworkSettings.ProxySetting.none)
        #expect(network.overrides == ["example.org:443": ["127.0.0.1"], "v6:80": ["::1"]])
        #expect(network.httpVersion == .http2)
    }

    @Test(arguments: [
        ("http://p:1", "http://p:1"), ("p:1", "http://p:1"), ("http:http://p:1", "http://p:1"),
        ("https:socks5://p:1", "socks5://p:1"), ("socks5h://p", "socks5h://p"),
    ])
    func readsProxies(_ text: String, _ expected: String) throws {
        #expect(try invocation("--proxy", text, "x").network.proxy == .url(expected))
    }

    @Test(arguments: [
        ["--proxy", "ftp://p", "x"], ["--resolve", "a:b:c", "x"], ["--resolve", "a:80", "x"], ["--pin", "abc", "x"],
        ["--print", "hz", "x"], ["--segments", "0", "x"], ["--segments", "17", "x"], ["--checksum", "sha256:12", "x"],
        ["--checksum", "crc:12", "x"], ["--boundary", "a b", "x"], ["--cert-key", "k", "x"],
        ["--raw", "a", "x", "b=c"],
        ["-c", "--segments", "2", "x"], ["--max-redirects", "-1", "x"], ["--default-scheme", "ftp", "x"], ["-v"],
    ])
    func invalidOptionValuesAreRefused(_ words: [String]) {
        #expect(throws: UsageError.self) { try CommandBuilder.command(for: words) }
    }

    @Test(
        "the error about a wrong command line says what is wrong and what to type",
        arguments: [
            (["--chunked", "x", "a=1"], "data items have a known length", "COMMAND | curlew --chunked URL"),
            (["--chunked", "--raw", "a", "x"], "--raw has a known length", "COMMAND | curlew --chunked URL"),
            (["--chunked", "-d", "x"], "--chunked and --download cannot be combined", "Without --chunked"),
            (["gte", ":8080"], "'gte' is not a known method", "'GET :8080', or 'gte:8080'"),
            (["pst", "http://x"], "'pst' is not a known method", "'POST http://x'"),
            (["POST"], "there is no URL", "curlew POST example.org"),
            (["post", "a=1"], "'a=1' is a request item, and there is no URL", "curlew POST example.org a=1"),
        ])
    func saysWhatToType(_ words: [String], _ message: String, _ hint: String) throws {
        let error = try #require(throws: UsageError.self) { try CommandBuilder.command(for: words) }
        #expect(error.message.contains(message))
        #expect(error.hint?.contains(hint) == true, "\(error)")
    }

    @Test(
        "unusual hosts, methods and items are accepted",
        arguments: [["post"], ["host", "X-A:1"], ["BREW", ":8080"], ["POST", "x/?a=1"], ["localhost", ":=1"]])
    func takesAsItIs(_ words: [String]) {
        #expect(throws: Never.self) { try CommandBuilder.command(for: words) }
    }

    @Test func terminalAndOptionsDecideOutputParts() throws {
        #expect(OutputSettings().effectiveParts(isTerminal: true) == [.responseHead, .responseBody])
        #expect(OutputSettings().effectiveParts(isTerminal: false) == [.responseBody])
        #expect(
            try invocation("--offline", "x").output.effectiveParts(isTerminal: false) == [.requestHead, .requestBody])
        #expect(OutputSettings().effectivePretty(isTerminal: true, noColorInEnvironment: true) == .format)
        #expect(OutputSettings().effectivePretty(isTerminal: false, noColorInEnvironment: false) == Pretty.none)
        var explicit = OutputSettings()
        explicit.pretty = .all
        #expect(explicit.effectivePretty(isTerminal: false, noColorInEnvironment: true) == .all)
    }
}

@Suite("Session files")
struct SessionTests {
    @Test func storedSessionIsReadUnchanged() throws {
        var session = StoredSession()
        session.headers = [HeaderField("X-A", "1"), HeaderField("Accept", "*/*")]
        session.auth = AuthSettings(scheme: .basic, username: "u", secret: "p\"\n")
        session.cookies = [
            StoredSession.Cookie(
                name: "a", value: "b", domain: "x.org", path: "/", isSecure: true, expires: 1_900_000_000),
            StoredSession.Cookie(name: "c", value: "", domain: "x.org", path: "/p", isHTTPOnly: true, isHostOnly: true),
        ]
        let text = JSONWriter.indented(session.json)
        #expect(StoredSession(try JSONParser.parse(text)) == session)
    }

    @Test(arguments: ["[]", "1", #"{"headers":[{"name":"a"}]}"#, #"{"cookies":[{"name":1}]}"#])
    func invalidSessionFileIsRefused(_ text: String) throws {
        #expect(StoredSession(try JSONParser.parse(text)) == nil)
    }

    @Test func sessionFileIsFoundByNameAndHost() throws {
        #expect(
            try SessionPath.path(name: "me", host: "Example.org", environment: ["XDG_CONFIG_HOME": "/c"])
                == "/c/curlew/sessions/example.org/me.json")
        #expect(
            try SessionPath.path(name: "me", host: "::1", environment: ["HOME": "/h"])
                == "/h/.config/curlew/sessions/__1/me.json")
        #expect(try SessionPath.path(name: "./s.json", host: "x", environment: [:]) == "./s.json")
        let home = try #require(ProcessInfo.processInfo.environment["HOME"])
        #expect(try SessionPath.path(name: "~/s.json", host: "x", environment: [:]) == home + "/s.json")
        #expect(SessionPath.folder("..") == "_")
        #expect(SessionPath.folder("../x") == ".._x")
        #expect(throws: UsageError.self) { try SessionPath.path(name: "me", host: "x", environment: [:]) }
        #expect(throws: UsageError.self) { try SessionPath.path(name: "..", host: "x", environment: ["HOME": "/h"]) }
    }

    @Test(arguments: [("Accept", true), ("Content-Type", false), ("If-Match", false), ("Cookie", false), ("X-Y", true)])
    func onlySessionHeadersAreStored(_ name: String, _ isKept: Bool) {
        #expect(StoredSession.isKept(header: name) == isKept)
    }
}

@Suite("The configuration file")
struct ConfigurationTests {
    private func configuration(_ text: String) throws(UsageError) -> Configuration {
        try Configuration(parsing: Array(text.utf8), path: "c.json")
    }

    private func invocation(_ words: String..., defaults: String) throws -> Invocation {
        try CurlewToolTests.invocation(words, defaults: configuration(defaults).defaults)
    }

    @Test(
        arguments: [
            (["CURLEW_CONFIG_DIR": "/own", "XDG_CONFIG_HOME": "/x", "HOME": "/h"], "/own/config.json"),
            (["CURLEW_CONFIG_DIR": "", "XDG_CONFIG_HOME": "/x", "HOME": "/h"], "/x/curlew/config.json"),
            (["XDG_CONFIG_HOME": "relative", "HOME": "/h"], "/h/.config/curlew/config.json"),
            ([:], nil),
        ] as [([String: String], String?)])
    func environmentDecidesConfigurationPath(_ environment: [String: String], _ path: String?) throws {
        #expect(Configuration.file(environment) == path)
        let session = try? SessionPath.path(name: "s", host: "h", environment: environment)
        #expect(session == path?.replacing("config.json", with: "sessions/h/s.json"))
    }

    @Test func commandLineOverridesDefaultOptions() throws {
        let defaults = #"{"default_options": ["--form", "--timeout", "3", "-v"], "__meta__": {}}"#
        let plain = try invocation("x", defaults: defaults)
        #expect(plain.body.kind == .form)
        #expect(plain.network.timeout == .some(.seconds(3)))
        let changed = try invocation("--json", "--no-timeout", "--no-verbose", "x", defaults: defaults)
        #expect(changed.body.kind == .json)
        #expect(changed.network.timeout == nil)
        #expect(changed.output.verbosity == 0)
    }

    @Test func configurationMayBeEmpty() throws {
        #expect(try configuration("{}") == Configuration())
        #expect(try configuration(#"{"default_options": []}"#) == Configuration())
    }

    @Test(
        "the error about a wrong configuration names the file and what is wrong",
        arguments: [
            ("{", "c.json: not JSON: "), ("[]", "c.json is not a JSON object"),
            (#"{"default_option": []}"#, "c.json: there is no setting 'default_option'"),
            (#"{"default_options": "--form"}"#, "c.json: default_options is not a list of texts"),
            (#"{"default_options": ["--form", 1]}"#, "c.json: default_options is not a list of texts"),
            (#"{"default_options": ["--frm"]}"#, "c.json: default_options: unknown option --frm"),
            (#"{"default_options": ["--timeout=soon"]}"#, "c.json: default_options: --timeout: 'soon' is not a time"),
            (#"{"default_options": ["x"]}"#, "c.json: default_options: 'x' is not an option"),
            (#"{"default_options": ["--help"]}"#, "c.json: default_options: --help would be all that curlew does"),
        ])
    func mistakes(_ text: String, _ message: String) {
        #expect {
            try configuration(text)
        } throws: {
            ($0 as? UsageError)?.message.hasPrefix(message) == true
        }
    }

    @Test func brokenConfigurationDoesNotPreventHelp() throws {
        let broken = { () throws(UsageError) -> ParsedArguments in throw UsageError("broken") }
        #expect(try CommandBuilder.command(for: ["--help"], defaults: broken) == .help(topic: nil))
        #expect(try CommandBuilder.command(for: ["--version"], defaults: broken) == .version)
        #expect(throws: UsageError("broken")) { try CommandBuilder.command(for: ["x"], defaults: broken) }
    }
}
