import CurlewCore
import CurlewTesting
import Foundation
import Glibc
import Testing

@testable import CurlewTool

@Suite("curlew --download", .timeLimit(.minutes(4)))
struct DownloadTests: ToolSuite {
    let place: ToolPlace

    init() throws { place = try ToolPlace() }

    /// Serves a file whose first response stalls in the middle of the body until the client disconnects.
    private func serveStalling(size: Int64, after: Int64) {
        server.script(
            "/range/\(size)",
            TestServer.Response.bytes(size).header("ETag", "\"range\(size)-0\"").header("Accept-Ranges", "bytes")
                .faulting(.stall(), at: .inBody(after: after))
        )
    }

    @Test func downloadIsSavedUnderTheServersName() async throws {
        server.script("/x", .text("hello").header("Content-Disposition", "attachment; filename=\"../greeting.txt\""))
        let outcome = try await tool("-d", base + "/x").run()
        #expect(outcome.status == 0)
        #expect(outcome.text == "")
        #expect(outcome.errors.contains("curlew: saved greeting.txt (5 B)"))
        #expect(folder.names == ["greeting.txt"])
        #expect(folder.read("greeting.txt") == Data("hello".utf8))
    }

    @Test func aDownloadReplacesNoPipe() async throws {
        server.script("/x", .text("hello"))
        let pipe = folder.url.appending(path: "pipe").path
        try #require(mkfifo(pipe, 0o600) == 0)
        let outcome = try await tool("-d", "-o", "pipe", base + "/x").run()
        #expect(outcome.status != 0)
        #expect(outcome.errors.contains("no regular file"))
        #expect(server.requests.isEmpty)
        var info = stat()
        try #require(stat(pipe, &info) == 0)
        #expect(info.st_mode & S_IFMT == S_IFIFO)
    }

    @Test("a download replaces no device, nor a link to one", arguments: ["/dev/null", "/dev/stdout"])
    func replacesNoDevice(path: String) {
        #expect(throws: UsageError.self) { try OutputDestination.expectDownload(to: path) }
    }

    @Test func aDownloadReplacesNoLink() async throws {
        server.script("/x", .text("hello"))
        try folder.write("file", "mine")
        try FileManager.default.createSymbolicLink(
            at: folder.url.appending(path: "link"), withDestinationURL: folder.url.appending(path: "file"))
        let outcome = try await tool("-d", "-o", "link", base + "/x").run()
        #expect(outcome.status == 1)
        #expect(outcome.errors.contains("cannot replace link, which is no regular file"))
        #expect(server.requests.isEmpty)
        #expect(folder.read("file") == Data("mine".utf8))
        #expect(Set(folder.names) == ["file", "link"])
    }

    @Test("a download sends a file or a form as its body") func sendsFilesAndForms() async throws {
        try folder.write("question.csv", "a,b")
        let outcome = try await tool("-dv", base + "/anything/file", "@question.csv").run()
        #expect(outcome.status == 0)
        let whole = try #require(server.requests.last)
        #expect(whole.bodyText == "a,b")
        #expect(whole.headers["Content-Type"] == "text/csv")
        #expect(outcome.errors.contains("\nContent-Length: 3\n"))
        #expect(try await tool("-d", "-f", base + "/anything/form", "table@question.csv", "x=1").run().status == 0)
        let form = try #require(server.requests.last?.bodyText)
        #expect(form.contains("filename=\"question.csv\""))
        #expect(form.contains("\r\n\r\na,b\r\n"))
        let missing = try await tool("-d", base + "/anything/missing", "@none.csv").run()
        #expect(missing.status == 1)
        #expect(missing.errors == "curlew: error: cannot read none.csv: No such file or directory\n")
    }

    @Test func requestBodyIsCompressed() async throws {
        try folder.write("table.csv", String(repeating: "a,b\n", count: 100))
        for item in ["@table.csv", "text=" + String(repeating: "a", count: 300)] {
            let outcome = try await tool("-dv", "--compress", base + "/anything/packed", item).run()
            #expect(outcome.status == 0)
            #expect(outcome.errors.contains("\nContent-Encoding: deflate\n"))
            let request = try #require(server.requests.last)
            #expect(request.headers["Content-Encoding"] == "deflate")
            #expect(request.body.count < 200)
        }
    }

    @Test("--continue is refused unless the request is a GET without a body", arguments: [["x=1"], ["a@begin", "-f"]])
    func continuesNoOtherRequests(_ items: [String]) async throws {
        try folder.write("begin", "begin")
        var command = tool("-d", "-c", "-o", "begin")
        command.arguments += [base + "/anything/file"] + items
        let body = try await command.run()
        let method = try await tool("-d", "-c", "-o", "begin", "POST", base + "/anything/file").run()
        for outcome in [body, method] {
            #expect(outcome.status == 1)
            #expect(
                outcome.errors.hasPrefix("curlew: error: --continue resumes only responses to GET without a body\n"))
        }
        #expect(server.requests.isEmpty)
        #expect(folder.read("begin") == Data("begin".utf8))
    }

    @Test("every download sends the whole content of a pipe") func sendsAPipeWithEveryDownload() async throws {
        let line = "exec \"$0\" -d \(base)/anything/1 \(base)/anything/2 @<(printf piped)"
        var shell = tool("-c", line, ToolProcess.executable.path)
        shell.program = URL(filePath: "/bin/bash")
        #expect(try await shell.run().status == 0)
        #expect(server.requests.map(\.bodyText) == ["piped", "piped"])
    }

    @Test func downloadDoesNotOverwriteExistingFile() async throws {
        _ = try folder.write("1000", "mine")
        #expect(try await tool("-d", base + "/bytes/1000").run().status == 0)
        #expect(folder.names == ["1000", "1000-1"])
        #expect(folder.read("1000") == Data("mine".utf8))
        #expect(try await tool("-d", "-o", "1000", base + "/bytes/1000").run().status == 0)
        #expect(folder.read("1000")?.count == 1000)
    }

    @Test func fetchesSeveralAtOnce() async throws {
        let outcome = try await tool("-d", base + "/range/1000", base + "/range/2000", base + "/range/3000").run()
        #expect(outcome.status == 0)
        #expect(folder.names == ["1000", "2000", "3000"])
        for size in [1000, 2000, 3000] {
            #expect(folder.read("\(size)") == TestServer.patternBytes(count: size))
            #expect(outcome.errors.contains("\(size): done, "))
        }
    }

    @Test func errorPageIsNotSaved() async throws {
        let outcome = try await tool("-d", base + "/status/404", base + "/range/10").run()
        #expect(outcome.status == 4)
        #expect(outcome.errors.contains("curlew: error: 404: the server answered 404"))
        #expect(folder.names == ["10"])
    }

    @Test("a failure is reported once, with the file's name if there are several downloads", arguments: [1, 2])
    func tellsAFailureOnce(_ count: Int) async throws {
        let deadEnd = try DeadEnd(.refusing)
        var words = ["-d", ":\(deadEnd.port)/lost"]
        if count == 2 { words.append(base + "/range/10") }
        var tool = tool()
        tool.arguments = words
        let outcome = try await tool.run()
        #expect(outcome.status == 1)
        #expect(outcome.errors.components(separatedBy: "no connection to localhost:\(deadEnd.port)").count == 2)
        #expect(outcome.errors.contains("curlew: error: \(count == 2 ? "lost: " : "")no connection to"))
    }

    @Test func checksTheChecksum() async throws {
        let right = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
        server.script("/hello", .text("hello"), .text("hello"))
        let good = try await tool("--checksum", "sha256:\(right.uppercased())", base + "/hello").run()
        #expect(good.status == 0)
        #expect(good.errors.contains("sha256 matches"))
        let bad = try await tool("-d", "-o", "x", "--checksum", "sha256:\(String(right.reversed()))", base + "/hello")
            .run()
        #expect(bad.status == 1)
        #expect(folder.names == ["hello"])
    }

    @Test("an interrupted download keeps its beginning and prints the command that resumes it")
    func resumes() async throws {
        let size: Int64 = 300_000
        serveStalling(size: size, after: 100_000)
        let outcome = try await tool("-d", "-o", "file", base + "/range/\(size)").run { pid in
            try await untilGrown(to: 100_000)
            kill(pid, SIGINT)
        }
        #expect(outcome.status == 130)
        let hint =
            "curlew: file: interrupted, and kept. To resume: curlew --download --continue --output file \(base)/range/\(size)"
        #expect(outcome.errors.contains(hint))
        #expect(folder.names.contains("file.curlew-resume"))
        #expect(!folder.names.contains("file"))
        let resumed = try await tool("-d", "-c", "-o", "file", base + "/range/\(size)").run()
        #expect(resumed.status == 0, "\(resumed.errors)")
        #expect(folder.names == ["file"])
        #expect(folder.read("file") == TestServer.patternBytes(count: Int(size)))
        #expect(server.requests.last?.headers["Range"] == "bytes=100000-")
    }

    @Test func downloadContinuesAfterBrokenConnection() async throws {
        let size: Int64 = 200_000
        server.script(
            "/range/\(size)",
            TestServer.Response.bytes(size).header("ETag", "\"range\(size)-0\"").faulting(
                .reset, at: .inBody(after: 50_000)))
        let outcome = try await tool("-d", base + "/range/\(size)").run()
        #expect(outcome.status == 1)
        #expect(outcome.errors.contains("200000: cut short, and kept. To resume: "))
        #expect(try await tool("-d", "-c", base + "/range/\(size)").run().status == 0)
        #expect(folder.names == ["200000"])
        #expect(folder.read("200000") == TestServer.patternBytes(count: Int(size)))
    }

    @Test func fetchesInSegments() async throws {
        let size = 5_000_000
        #expect(try await tool("-d", "--segments", "4", base + "/range/\(size)").run().status == 0)
        #expect(folder.names == ["\(size)"])
        #expect(folder.read("\(size)") == TestServer.patternBytes(count: size))
        #expect(server.requests.count { $0.headers["Range"] != nil } > 2)
    }

    @Test func downloadIsRetried() async throws {
        server.script("/busy", .status(503, headers: ["Retry-After": "0"]), .text("well"))
        let outcome = try await tool("-d", "--retry", "2", base + "/busy").run()
        #expect(outcome.status == 0)
        #expect(outcome.errors.contains("curlew: busy: the server answered 503; trying again "))
        #expect(outcome.errors.contains(" (1 of 2)\n"))
        #expect(folder.read("busy") == Data("well".utf8))
    }

    @Test("the progress bar adapts to the window's width, and Ctrl-C keeps the partial file")
    func drawsABar() async throws {
        let size: Int64 = 400_000
        serveStalling(size: size, after: 200_000)
        var tool = tool("-d", "-o", "file", base + "/range/\(size)")
        tool.environment = ["NO_COLOR": "1"]
        let terminal = try TerminalProcess(tool, columns: 100)
        await terminal.wait(for: " 50% ━")
        await terminal.wait(for: "195.3 KiB of 390.6 KiB")
        terminal.resize(columns: 40, rows: 24)
        // 40 columns have no room for the figures, so only the bar is left.
        await terminal.wait(
            for: "50% " + String(repeating: "━", count: 12) + String(repeating: "─", count: 12) + "\r\n")
        terminal.type("\u{3}")
        let (screen, status) = await terminal.finish()
        #expect(status == 130)
        #expect(screen.contains("To resume: curlew --download --continue --output file"))
        #expect(folder.names.contains("file.curlew-resume"))
    }

    @Test("each of several downloads has a progress bar, and one Ctrl-C keeps all partial files")
    func drawsSeveralBars() async throws {
        let sizes: [Int64] = [100_000, 200_000]
        for size in sizes { serveStalling(size: size, after: size / 4) }
        var tool = tool("-d", base + "/range/100000", base + "/range/200000")
        tool.environment = ["NO_COLOR": "1"]
        let terminal = try TerminalProcess(tool, columns: 100)
        await terminal.wait(for: "24.4 KiB of 97.7 KiB")
        await terminal.wait(for: "48.8 KiB of 195.3 KiB")
        terminal.type("\u{3}")
        let (screen, status) = await terminal.finish()
        #expect(status == 130)
        for size in sizes {
            #expect(screen.contains("\(size): interrupted, and kept. To resume: curlew --download --continue"))
            #expect(folder.names.contains("\(size).curlew-resume"))
        }
        #expect(try await self.tool("-d", "-c", base + "/range/100000", base + "/range/200000").run().status == 0)
        #expect(folder.names == ["100000", "200000"])
        for size in sizes { #expect(folder.read("\(size)") == TestServer.patternBytes(count: Int(size))) }
    }

    private func untilGrown(to size: Int) async throws {
        for _ in 0..<1600 {
            let sizes = folder.names.compactMap { folder.read($0)?.count }
            if sizes.contains(where: { $0 >= size }) { return }
            try await Task.sleep(for: .milliseconds(25))
        }
        Issue.record("the file did not grow: \(folder.names)")
    }
}
