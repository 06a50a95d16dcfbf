import Testing

@testable import CurlewTool

@Suite("The configuration file")
struct ConfigurationTests {
    private func configuration(_ text: String) throws(UsageError) -> Configuration {
        try Configuration(parsing: Array(text.utf8), path: "c.json")
    }

    private func invocation(_ words: String..., defaults: String) throws -> Invocation {
        let parsed = try configuration(defaults).defaults
        guard case .request(let invocation) = try CommandBuilder.command(for: words, defaults: { parsed }) else {
            throw UsageError("not a request: \(words)")
        }
        return invocation
    }

    @Test(
        arguments: [
            (["CURLEW_CONFIG_DIR": "/own", "XDG_CONFIG_HOME": "/x", "HOME": "/h"], "/own/config.json"),
            (["CURLEW_CONFIG_DIR": "", "XDG_CONFIG_HOME": "/x", "HOME": "/h"], "/x/curlew/config.json"),
            (["XDG_CONFIG_HOME": "relative", "HOME": "/h"], "/h/.config/curlew/config.json"),
            ([:], nil),
        ] as [([String: String], String?)])
    func isWhereTheEnvironmentSays(_ environment: [String: String], _ path: String?) throws {
        #expect(Configuration.file(environment) == path)
        let session = try? SessionPath.path(name: "s", host: "h", environment: environment)
        #expect(session == path?.replacing("config.json", with: "sessions/h/s.json"))
    }

    @Test func standsBeforeTheCommandLine() throws {
        let defaults = #"{"default_options": ["--form", "--timeout", "3", "-v"], "__meta__": {}}"#
        let plain = try invocation("x", defaults: defaults)
        #expect(plain.body.kind == .form)
        #expect(plain.network.timeout == .some(.seconds(3)))
        let changed = try invocation("--json", "--no-timeout", "--no-verbose", "x", defaults: defaults)
        #expect(changed.body.kind == .json)
        #expect(changed.network.timeout == nil)
        #expect(changed.output.verbosity == 0)
    }

    @Test func mayBeEmpty() throws {
        #expect(try configuration("{}") == Configuration())
        #expect(try configuration(#"{"default_options": []}"#) == Configuration())
    }

    @Test(
        "a mistake names the file and what is wrong",
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

    @Test func doesNotKeepHelpFromWorking() throws {
        let broken = { () throws(UsageError) -> ParsedArguments in throw UsageError("broken") }
        #expect(try CommandBuilder.command(for: ["--help"], defaults: broken) == .help(topic: nil))
        #expect(try CommandBuilder.command(for: ["--version"], defaults: broken) == .version)
        #expect(throws: UsageError("broken")) { try CommandBuilder.command(for: ["x"], defaults: broken) }
    }
}
