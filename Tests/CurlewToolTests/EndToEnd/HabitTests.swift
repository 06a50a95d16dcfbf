import CurlewCore
import CurlewTesting
import Foundation
import Testing

@testable import CurlewTool

@Suite("curlew for users of HTTPie or curl", .timeLimit(.minutes(4)))
struct HabitTests: ToolSuite {
    let place: ToolPlace

    init() throws { place = try ToolPlace() }

    private func configured(_ text: String, _ tool: ToolProcess) throws -> ToolProcess {
        var tool = tool
        try folder.write("config.json", text)
        tool.environment["CURLEW_CONFIG_DIR"] = folder.url.path
        return tool
    }

    private func screen(_ tool: ToolProcess) async throws -> String {
        try await TerminalProcess(tool).finish().screen.replacing("\r\n", with: "\n")
    }

    // MARK: Configuration

    @Test func defaultOptionsAreReadFromConfiguration() async throws {
        let text = #"{"default_options": ["--form", "--print=B"]}"#
        #expect(try await configured(text, tool(base + "/post", "a=1 2")).run().text.hasPrefix("a=1+2"))
        #expect(server.requests.first?.headers["Content-Type"]?.hasPrefix("application/x-www-form-urlencoded") == true)
        let taken = try await configured(text, tool("--no-form", base + "/post", "a=1 2")).run()
        #expect(taken.text.hasPrefix(#"{"a": "1 2"}"#))
    }

    @Test func nothingIsSentIfConfigurationIsInvalid() async throws {
        let broken = try configured(#"{"default_options": ["--frm"]}"#, tool(base + "/get"))
        let outcome = try await broken.run()
        #expect(outcome.status == 1)
        #expect(
            outcome.errors
                == "curlew: error: \(folder.url.path)/config.json: default_options: unknown option --frm\n"
                + "  Did you mean '--form'?\n")
        #expect(server.requests.isEmpty)
        #expect(try await configured("{", tool("--version")).run().status == 0)
    }

    @Test func keepsSessionsBesideItsConfiguration() async throws {
        let outcome = try await configured("{}", tool("--session=ada", base + "/get", "X-A:1")).run()
        #expect(outcome.status == 0)
        let file = folder.url.appending(path: "sessions/localhost_\(server.port)/ada.json")
        #expect(FileManager.default.fileExists(atPath: file.path))
    }

    @Test("started as curlews, the tool uses https for a URL without a scheme")
    func isCurlews() async throws {
        let link = folder.url.appending(path: "curlews")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: ToolProcess.executable)
        var secure = tool("--offline", "--curl", "example.org")
        secure.program = link
        #expect(try await secure.run().text.contains("https://example.org/"))
        #expect(try await tool("--https", "--curl", "example.org").run().text.contains("https://example.org/"))
    }

    // MARK: Output

    @Test func bodyIsFormattedByItsActualContent() async throws {
        let rows: [(String, String, String)] = [
            ("text/plain", #"{"b":1,"a":2}"#, "{\n    \"b\": 1,\n    \"a\": 2\n}\n"),
            ("application/xml", "<a><b/></a>", "<a>\n  <b/>\n</a>\n"),
            ("text/html", "<ul><li>a</ul>", "<ul>\n  <li>a\n</ul>\n"),
            ("text/event-stream", "data: [1]\n\n", "data: [\ndata:     1\ndata: ]\n\n"),
        ]
        for (type, body, shown) in rows {
            let response = TestServer.Response(headers: ["Content-Type": type], body: .data(Data(body.utf8)))
            server.script("/x", response, response)
            #expect(try await screen(tool("-b", "--pretty=format", base + "/x")) == shown)
            // The output to a pipe is not formatted.
            #expect(try await tool(base + "/x").run().text == body)
        }
    }

    @Test func showsOtherCharsets() async throws {
        let bytes = Data([0x93, 0xFA, 0x96, 0x7B])
        let response = TestServer.Response(headers: ["Content-Type": "text/plain"], body: .data(bytes))
        server.script("/x", response, response)
        #expect(try await screen(tool("-b", "--response-charset=shift_jis", base + "/x")) == "日本\n")
        #expect(try await tool("--response-charset=shift_jis", base + "/x").run().output == bytes)
    }

    @Test("one empty line separates the head from a body that is buffered for formatting")
    func separatesOnce() async throws {
        server.script(
            "/x",
            TestServer.Response(
                headers: ["Content-Type": "text/plain"],
                body: .chunks([Data("[".utf8), Data("1".utf8), Data("]".utf8)])))
        let text = try await screen(tool("--pretty=format", base + "/x"))
        #expect(text.hasSuffix("chunked\n\n[\n    1\n]\n"))
    }

    @Test func takesColorsFromAStyle() async throws {
        let text = try await screen(tool("-h", "--style=monokai", base + "/get"))
        #expect(text.contains("\u{1B}[1;38;5;148m200\u{1B}[0m"))
    }

    // MARK: Input

    @Test("standard input beside data items or --raw is refused, unless -I ignores it")
    func refusesTwoBodies() async throws {
        try folder.write("data.json", "{}")
        for words in [["a=1"], ["--raw", "text"]] {
            var loop = ToolProcess()
            loop.program = URL(filePath: "/bin/sh")
            loop.arguments = ["-c", "\"$0\" \"$@\" < data.json", ToolProcess.executable.path, base + "/post"] + words
            loop.folder = folder.url
            let outcome = try await loop.run()
            #expect(outcome.status == 1)
            #expect(outcome.errors.contains("cannot be combined\n  Both are the body. --ignore-stdin (-I)"))
            #expect(server.requests.isEmpty)
        }
        var loop = ToolProcess()
        loop.program = URL(filePath: "/bin/sh")
        loop.arguments = ["-c", "\"$0\" \"$@\" < data.json", ToolProcess.executable.path, "-I", base + "/post", "a=1"]
        loop.folder = folder.url
        #expect(try await loop.run().status == 0)
        #expect(server.requests.first?.bodyText == #"{"a": "1"}"#)
    }

    @Test("an empty pipe or file beside data items is not an error")
    func takesItemsBesideAnEmptyInput() async throws {
        var pipe = tool(base + "/post", "a=1")
        pipe.input = Data()
        #expect(try await pipe.run().status == 0)
        try folder.write("empty", "")
        var file = tool("-c", "exec \"$0\" \"$@\" < empty", ToolProcess.executable.path, base + "/post", "a=1")
        file.program = URL(filePath: "/bin/sh")
        #expect(try await file.run().status == 0)
        #expect(server.requests.map(\.bodyText) == [#"{"a": "1"}"#, #"{"a": "1"}"#])
    }

    @Test func refusesTheSecondBodyOfAPipeline() async throws {
        let pipe = Pipe()
        try pipe.send(Data("x".utf8))
        var refused = tool(base + "/post", "a=1")
        refused.inputPipe = pipe
        let outcome = try await refused.run()
        #expect(outcome.errors.contains("standard input and data items cannot be combined"))
        #expect(outcome.status == 1)
        #expect(server.requests.isEmpty)
    }

    @Test("an open pipe without data does not block a request with data items")
    func takesItemsBesideASilentPipe() async throws {
        var silent = tool(base + "/post", "a=1")
        silent.inputPipe = Pipe()
        #expect(try await silent.run().status == 0)
        #expect(server.requests.first?.bodyText == #"{"a": "1"}"#)
    }

    @Test("input that arrives after the request was sent is reported as not sent")
    func tellsOfLateInput() async throws {
        let (gate, pipe) = (Gate(), Pipe())
        server.script("/post", .text("done").stalling(until: gate, at: .beforeHead))
        var late = tool(base + "/post", "a=1")
        late.inputPipe = pipe
        let outcome = try await late.run { [server] _ in
            try await server.waitForRequests(count: 1)
            try pipe.send(Data("x".utf8))
            gate.open()
        }
        #expect(outcome.text == "done")
        #expect(outcome.status == 1)
        #expect(
            outcome.errors.hasPrefix(
                "curlew: error: standard input was not sent: the body was made of the data items\n"))
    }

    // MARK: The request as it is written

    @Test func pathAsIsKeepsDotSegments() async throws {
        server.script("/a/../b", TestServer.Response(status: 302, headers: ["Location": "/c"]))
        #expect(try await tool("--path-as-is", "-F", base + "/a/../b?x").run().status == 0)
        #expect(try await tool(base + "/a/../b?x").run().status == 0)
        #expect(server.requests.map(\.target) == ["/a/../b?x", "/c", "/b?x"])
    }

    @Test(
        "a field that is removed is not sent",
        arguments: ["Accept", "User-Agent", "Accept-Encoding", "Content-Type"])
    func removesFields(_ name: String) async throws {
        try folder.write("note.txt", "a note")
        for words in [[], ["a=1"], ["-f", "a=1"], ["-f", "file@note.txt"], ["--raw", "x"], ["@note.txt"]]
        where name != "Content-Type" || !words.contains("file@note.txt") {
            var process = tool()
            process.arguments = ["-v", base + "/anything", "\(name):"] + words
            let outcome = try await process.run()
            #expect(outcome.status == 0)
            #expect(server.requests.last?.headers.contains(name: name) == false, "\(words)")
            // The request that is shown lacks the field as well.
            #expect(!outcome.lines.prefix { !$0.isEmpty }.contains { $0.hasPrefix("\(name):") }, "\(words)")
        }
    }

    @Test(
        "removing Host, Content-Length or the Content-Type of a form with files is an error",
        arguments: ["Host", "content-length"])
    func keepsNeededFields(_ name: String) async throws {
        let outcome = try await tool(base + "/post", "a=1", "\(name):").run()
        #expect(outcome.status == 1)
        #expect(outcome.errors.hasPrefix("curlew: error: '\(name):': a request cannot be sent without \(name)\n"))
        // The type of a form with files cannot be removed, because it names the boundary.
        try folder.write("note.txt", "a note")
        #expect(try await tool("-f", base + "/post", "file@note.txt", "Content-Type:").run().status == 1)
        #expect(server.requests.isEmpty)
    }

    // MARK: Other

    @Test("a progress line is shown during an upload and removed at its end")
    func showsUploads() async throws {
        try folder.write("big.bin", String(repeating: "x", count: 300_000))
        // The server reads the rest of the file only once the gate is open, so the line is on the screen until then.
        let gate = Gate()
        server.script("/up", .status(204).stalling(until: gate, at: .readingBody(after: 10_000)))
        let terminal = try TerminalProcess(tool("-b", "--limit-rate=150k", "PUT", base + "/up", "@big.bin"))
        await terminal.wait(for: " of 293.0 KiB")
        gate.open()
        let (screen, status) = await terminal.finish()
        #expect(status == 0)
        #expect(screen.contains(" of 293.0 KiB"))
        // The line is removed: the output ends with the sequence that clears it.
        #expect(screen.hasSuffix("\u{1B}[1A\r\u{1B}[J"))
        #expect(try await tool("--limit-rate=150k", "PUT", base + "/status/204", "@big.bin").run().errors == "")
    }

    @Test("--debug prints the steps of a request without credentials")
    func debugs() async throws {
        let debugged = try configured(
            #"{"default_options": ["--auth=u:secret"]}"#, tool("--debug", base + "/get", "q==1"))
        let outcome = try await debugged.run()
        #expect(outcome.status == 0)
        for text in [
            "debug: version: curlew ", "config.json", "--auth=...", "exchange started", "status=200",
            "debug: connections to http://localhost\(base): HTTP/1.1, 0 in use, 1 idle",
        ] {
            #expect(outcome.errors.contains(text))
        }
        #expect(!outcome.errors.contains("secret"))
        #expect(outcome.errors.split(separator: "\n").allSatisfy { $0.hasPrefix("curlew: debug: ") })
    }
}
