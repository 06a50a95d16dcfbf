import Curlew
import CurlewCore
import CurlewTesting
import Foundation
import Testing

@testable import CurlewTool

@Suite("curlew in pipes", .timeLimit(.minutes(4)))
struct PipeTests {
    private let server: TestServer
    private let base: String

    init() throws {
        server = try TestServer()
        base = ":\(server.port)"
    }

    @Test func bodyIsWrittenUnchangedToAPipe() async throws {
        let body = Data((0...255).map { UInt8($0) })
        server.script("/raw", .data(body))
        let outcome = try await ToolProcess(base + "/raw").run()
        #expect(outcome.status == 0)
        #expect(outcome.output == body)
        #expect(outcome.errors == "")
    }

    @Test("a closed standard output is reported as an error")
    func refusesClosedOutput() async throws {
        server.script("/x", .text("abc"))
        var tool = ToolProcess("-c", "exec \"$0\" -b \"$1\" >&-", ToolProcess.executable.path, base + "/x")
        tool.program = URL(filePath: "/bin/sh")
        let outcome = try await tool.run()
        #expect(outcome.status == 1)
        #expect(outcome.errors == "curlew: error: cannot write the output: Bad file descriptor\n")
    }

    @Test func sendsJSON() async throws {
        let outcome = try await ToolProcess("-b", base + "/post", "a=1", "b:=[1, 2.50]", "c[d]=x", "q==1 2", "X-Y:z")
            .run()
        #expect(outcome.status == 0)
        let request = try #require(server.requests.first)
        #expect(request.method == "POST")
        #expect(request.target == "/post?q=1+2")
        #expect(request.bodyText == #"{"a": "1", "b": [1, 2.50], "c": {"d": "x"}}"#)
        #expect(request.headers["Content-Type"] == "application/json")
        #expect(request.headers["Accept"] == "application/json, */*;q=0.5")
        #expect(request.headers["X-Y"] == "z")
        #expect(request.headers["User-Agent"] == "curlew/\(CurlewInfo.version)")
    }

    @Test func sendsForms() async throws {
        #expect(try await ToolProcess("-f", base + "/post", "a=1 2", "a=é").run().status == 0)
        #expect(server.requests.first?.bodyText == "a=1+2&a=%C3%A9")
    }

    @Test func standardInputIsSentAsBody() async throws {
        #expect(try await ToolProcess("PUT", base + "/put", input: "piped\u{1}").run().status == 0)
        #expect(server.requests.first?.bodyText == "piped\u{1}")
        #expect(try await ToolProcess("-I", base + "/get", input: "ignored").run().status == 0)
        #expect(server.requests.last?.method == "GET")
    }

    @Test func showsTheWholeExchange() async throws {
        server.script(
            "/x",
            TestServer.Response(
                status: 201, headers: ["X-A": "b", "Content-Length": "2"], body: .data(Data("{}".utf8))))
        let outcome = try await ToolProcess("-v", "POST", base + "/x", "a=1").run()
        let agent = "curlew/\(CurlewInfo.version)"
        let encodings = try #require(server.requests.first?.headers["Accept-Encoding"])
        #expect(
            outcome.text == """
                POST /x HTTP/1.1
                Host: localhost:\(server.port)
                User-Agent: \(agent)
                Accept: application/json, */*;q=0.5
                Content-Type: application/json
                Accept-Encoding: \(encodings)
                Content-Length: 10

                {"a": "1"}

                HTTP/1.1 201 Created
                X-A: b
                Content-Length: 2

                {}
                """)
        // The request that is shown is the request that was sent.
        let sent = try #require(server.requests.first)
        let shown = outcome.lines.dropFirst().prefix { !$0.isEmpty }.sorted()
        #expect(sent.headers.map { "\($0.name): \($0.value)" }.sorted() == shown)
    }

    @Test func exitsByStatusAndFailure() async throws {
        #expect(try await ToolProcess(base + "/status/404").run().status == 0)
        #expect(try await ToolProcess("--check-status", base + "/status/404").run().status == 4)
        #expect(try await ToolProcess("--check-status", base + "/status/503").run().status == 5)
        #expect(try await ToolProcess("--check-status", base + "/redirect/1").run().status == 3)
        #expect(try await ToolProcess("--check-status", "-F", base + "/redirect/1").run().status == 0)
        #expect(try await ToolProcess("-F", "--max-redirects", "2", base + "/redirect/5").run().status == 6)
        #expect(try await ToolProcess("--timeout", "200ms", base + "/hang").run().status == 2)
        #expect(try await ToolProcess("--nonsense").run().status == 1)
    }

    @Test func errorShowsCausePhaseAndRemedy() async throws {
        let deadEnd = try DeadEnd(.refusing)
        let port = deadEnd.port
        let outcome = try await ToolProcess(":\(port)/").run()
        #expect(outcome.status == 1)
        #expect(outcome.text == "")
        #expect(
            outcome.errors.hasPrefix(
                "curlew: error: no connection to localhost:\(port)\n  phase: connect; 7 CURLE_COULDNT_CONNECT"))
        #expect(outcome.errors.contains("\n  try: Check that the server is running"))
    }

    @Test func allOptionShowsEveryRedirect() async throws {
        let outcome = try await ToolProcess("-F", "--all", "-h", base + "/redirect/2").run()
        #expect(
            outcome.lines.filter { $0.hasPrefix("HTTP") } == [
                "HTTP/1.1 302 Found", "HTTP/1.1 302 Found", "HTTP/1.1 200 OK",
            ])
    }

    @Test("-v with -F shows every request and response of a redirect as it was sent", arguments: [303, 307])
    func showsEveryExchange(_ status: Int) async throws {
        server.script(
            "/a",
            TestServer.Response(
                status: status, headers: ["Zebra": "1", "Location": "/b", "Ape": "2"],
                body: .data(Data("this way".utf8))))
        server.script("/b", .text("there"))
        let outcome = try await ToolProcess("-v", "-F", "POST", base + "/a", "X-B:1", "X-A:2", "a=1").run()
        let shown = outcome.text.components(separatedBy: "\n\n")
        let reason = status == 303 ? "See Other" : "Temporary Redirect"
        let isKept = status == 307
        try #require(shown.count == (isKept ? 8 : 7), "\(outcome.text)")
        #expect(
            shown[2] == "HTTP/1.1 \(status) \(reason)\nZebra: 1\nLocation: /b\nApe: 2\nContent-Length: 8")
        #expect(shown[3] == "this way")
        let lines = shown[4].components(separatedBy: "\n")
        #expect(lines.first == "\(isKept ? "POST" : "GET") /b HTTP/1.1")
        // The request that is shown is the request that was sent, with its fields in the order of the first request.
        let sent = try #require(server.requests.last)
        #expect(sent.headers.map { "\($0.name): \($0.value)" }.sorted() == lines.dropFirst().sorted())
        let names = { (block: String) in block.components(separatedBy: "\n").map { $0.prefix { $0 != ":" } }.dropFirst()
        }
        #expect(names(shown[0]).filter { names(shown[4]).contains($0) } == Array(names(shown[4])))
        if isKept { #expect(shown[5] == "{\"a\": \"1\"}") }
        #expect(shown.last == "there")
    }

    @Test("-v with --verify no shows both exchanges of a redirect")
    func showsTheWayOfAGuardedRequest() async throws {
        server.script("/a", TestServer.Response(status: 302, headers: ["Location": "/b"]))
        server.script("/b", .text("there"))
        let outcome = try await ToolProcess("-v", "-F", "--verify", "no", base + "/a").run()
        #expect(
            outcome.lines.filter { $0.hasPrefix("GET /") || $0.hasPrefix("HTTP/1.1 ") } == [
                "GET /a HTTP/1.1", "HTTP/1.1 302 Found", "GET /b HTTP/1.1", "HTTP/1.1 200 OK",
            ], "\(outcome.text)")
        #expect(outcome.text.hasSuffix("there"), "\(outcome.text)")
        #expect(outcome.status == 0 && server.requests.map(\.target) == ["/a", "/b"])
    }

    @Test func retriesAreAnnounced() async throws {
        server.script("/busy", .status(503, headers: ["Retry-After": "0"]), .status(503), .text("well"))
        let outcome = try await ToolProcess("--retry", "2", base + "/busy").run()
        #expect(outcome.text == "well")
        let notes = outcome.errors.split(separator: "\n")
        #expect(notes.count == 2)
        #expect(notes.allSatisfy { $0.hasPrefix("curlew: the server answered 503; trying again ") })
        #expect(notes.map { $0.suffix(8) } == ["(1 of 2)", "(2 of 2)"])
        server.script("/busy", .status(503, headers: ["Retry-After": "0"]), .text("well"))
        #expect(try await ToolProcess("-q", "--retry", "2", base + "/busy").run().errors == "")
    }

    @Test(
        "--retry does not repeat a POST or a piped body, and the response is printed",
        arguments: [["POST"], ["--chunked", "PUT"]])
    func responseToUnretriedRequestIsPrinted(words: [String]) async throws {
        server.script("/busy", TestServer.Response.text("later").changed { $0.status = 503 }, .text("twice"))
        var tool = ToolProcess(input: words == ["POST"] ? nil : "abc")
        tool.arguments = ["--retry", "2", "--check-status"] + words + [base + "/busy"]
        let outcome = try await tool.run()
        #expect(outcome.text == "later")
        #expect(outcome.status == 5, "\(outcome.errors)")
        #expect(server.requests.count == 1)
        let download = try await ToolProcess("--retry", "2", "-d", "POST", base + "/none").run()
        #expect(download.errors.contains("none: the server answered 404"), "\(download.errors)")
    }

    @Test("the first line of the metadata is the status")
    func showsTheStatusAmongMetadata() async throws {
        let outcome = try await ToolProcess("-m", base + "/status/404").run()
        #expect(outcome.lines.first == "Status: 404")
    }

    @Test("an internationalized host name is shown in its ASCII form")
    func showsTheHostThatIsSent() async throws {
        let outcome = try await ToolProcess("--offline", "http://b\u{FC}cher.example:81/").run()
        #expect(outcome.lines.contains("Host: xn--bcher-kva.example:81"), "\(outcome.text)")
    }

    @Test("--compress sends a body unchanged if compression would enlarge it")
    func compressesWhatShrinks() async throws {
        var random = SplitMix(seed: 7)
        let letters = Array("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+/".utf8)
        let noise = Data((0..<4000).map { _ in UInt8(truncatingIfNeeded: random.next() >> 32) })
        let text = Data((0..<4000).map { letters[$0 % 7] })
        for (data, coding) in [(noise, nil), (text, "deflate")] as [(Data, String?)] {
            var tool = ToolProcess("-vx", "PUT", base + "/put")
            tool.input = data
            let outcome = try await tool.run()
            #expect(outcome.status == 0)
            #expect(server.requests.last?.headers["Content-Encoding"] == coding)
            // The body echoes the request's fields, so only the head is searched.
            let head = try #require(outcome.text.components(separatedBy: "\n\n").first)
            #expect(head.components(separatedBy: "\n").contains("Content-Encoding: deflate") == (coding != nil))
        }
    }

    @Test func sendsNothingOffline() async throws {
        let outcome = try await ToolProcess("--offline", base + "/post", "a=1").run()
        #expect(outcome.text.hasPrefix("POST /post HTTP/1.1\nHost: localhost:\(server.port)\n"))
        #expect(outcome.text.hasSuffix("\nContent-Length: 10\n\n{\"a\": \"1\"}"))
        #expect(server.requestCount == 0)
    }

    @Test("the command that --curl prints sends the same request")
    func curlCommandSendsTheSame() async throws {
        let items = ["PUT", base + "/put", "a=it's", "X-Y:$HOME `x`", "q==1&2"]
        var tool = ToolProcess()
        tool.arguments = ["--curl"] + items
        let command = try await tool.run().text
        tool.arguments = items
        #expect(try await tool.run().status == 0)
        let shell = Process()
        shell.executableURL = URL(filePath: "/bin/sh")
        shell.arguments = ["-c", command]
        shell.standardOutput = FileHandle.nullDevice
        shell.standardError = FileHandle.nullDevice
        let ended = ToolProcess.Ended(shell)
        try shell.run()
        try #require(await ended.status() == 0, "\(command)")
        let (ours, theirs) = (server.requests[0], server.requests[1])
        #expect(ours.method == theirs.method)
        #expect(ours.target == theirs.target)
        #expect(ours.bodyText == theirs.bodyText)
        for name in ["X-Y", "Content-Type", "Accept", "User-Agent"] {
            #expect(ours.headers[name] == theirs.headers[name])
        }
        // Each program offers the codings that its own libcurl decodes, so only their beginning is compared.
        for request in [ours, theirs] {
            #expect(request.headers["Accept-Encoding"]?.hasPrefix("deflate, gzip") == true)
        }
    }

    @Test func authenticates() async throws {
        #expect(try await ToolProcess("--check-status", "-a", "u:p", base + "/basic-auth/u/p").run().status == 0)
        #expect(
            try await ToolProcess("--check-status", "u:p@localhost:\(server.port)/basic-auth/u/p").run().status == 0)
        #expect(try await ToolProcess("--check-status", "-a", "u:x", base + "/basic-auth/u/p").run().status == 4)
        #expect(try await ToolProcess("--check-status", "-A", "bearer", "-a", "t", base + "/bearer").run().status == 0)
        #expect(
            try await ToolProcess("--check-status", "-A", "digest", "-a", "u:p", base + "/digest-auth/auth/u/p").run()
                .status == 0)
    }

    @Test func prettyOptionFormatsBodyInAPipe() async throws {
        server.script("/j", .text(#"{"b":1.10,"a":[true]}"#, type: "application/json"))
        let outcome = try await ToolProcess("--pretty=format", base + "/j").run()
        #expect(outcome.text == "{\n    \"b\": 1.10,\n    \"a\": [\n        true\n    ]\n}")
    }

    @Test("output to a full disk is reported as an error")
    func reportsAFullDisk() async throws {
        let script = "exec \"$0\" \"$1\" >/dev/full"
        var tool = ToolProcess("-c", script, ToolProcess.executable.path, base + "/bytes/50000000")
        tool.program = URL(filePath: "/bin/sh")
        let outcome = try await tool.run()
        #expect(outcome.status == 1)
        #expect(outcome.errors == "curlew: error: cannot write the output: No space left on device\n")
    }

    @Test("SIGPIPE ends the tool without a message if the reader of its output exits")
    func closedOutputPipeEndsToolQuietly() async throws {
        // The shell writes the tool's exit status, which is 128 and the number of the signal.
        let script = "{ \"$0\" \"$1\"; echo $? >&2; } | head -c 3"
        var tool = ToolProcess("-c", script, ToolProcess.executable.path, base + "/bytes/50000000")
        tool.program = URL(filePath: "/bin/sh")
        let outcome = try await tool.run()
        #expect(outcome.output == TestServer.patternBytes(count: 3))
        #expect(outcome.errors == "141\n")
        try await eventually { server.openConnectionCount == 0 }
    }

    @Test func showsMetadataAndTiming() async throws {
        let outcome = try await ToolProcess("-m", "--timing", base + "/delay/0.05").run()
        #expect(
            outcome.lines.map { $0.prefix { $0 != ":" } }.prefix(4) == [
                "Status", "Elapsed time", "Protocol", "Remote address",
            ])
        for phase in ["lookup", "connect", "send", "wait", "receive", "total"] {
            #expect(outcome.errors.contains("  \(phase)"))
        }
    }

    @Test func writesAnArchive() async throws {
        let folder = try ScratchDirectory()
        let file = folder.url.appending(path: "x.har").path
        server.script("/har", .text("fine"))
        #expect(try await ToolProcess("--har", file, "-a", "u:secret", base + "/har", "a=1").run().status == 0)
        let data = try #require(folder.read("x.har"))
        let json = try JSONParser.parse(Array(data))
        let entry = try #require(json["log"]?["entries"]?.elements?.first)
        #expect(json["log"]?["version"] == .string("1.2"))
        #expect(entry["request"]?["method"] == .string("POST"))
        #expect(entry["request"]?["postData"]?["text"] == .string(#"{"a": "1"}"#))
        #expect(entry["response"]?["status"] == .number("200"))
        let text = String(decoding: data, as: UTF8.self)
        #expect(!text.contains("dTpzZWNyZXQ"))
    }
}
