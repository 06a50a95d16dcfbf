import CurlewCore
import CurlewTesting
import Foundation
import Testing

@testable import CurlewTool

@Suite("curlew --output", .timeLimit(.minutes(4)))
struct OutputFileTests: ToolSuite {
    let place: ToolPlace

    init() throws { place = try ToolPlace() }

    private func run(_ arguments: String...) async throws -> ToolProcess.Outcome {
        try await tool(arguments).run()
    }

    private func text(_ name: String) -> String? { folder.read(name).map { String(decoding: $0, as: UTF8.self) } }

    @Test("a request without a response neither changes nor creates the output file", arguments: [[], ["-v"]])
    func keepsTheFileWithoutAResponse(options: [String]) async throws {
        let reset = TestServer.Response.text("").faulting(.reset, at: .beforeHead)
        // Enough resets for both runs: libcurl may repeat a request over a new connection.
        server.script("/x", Array(repeating: reset, count: 8))
        try folder.write("kept", "precious")
        for name in ["kept", "new"] {
            #expect(try await tool(options + ["-o", name, base + "/x"]).run().status == 1)
        }
        #expect(text("kept") == "precious")
        #expect(folder.names == ["kept"])
    }

    @Test("a response replaces the file's content, and -v writes the request before it")
    func replacesTheFile() async throws {
        server.script("/x", .text("short"), .text(""), .text("body"))
        try folder.write("out", "something longer")
        #expect(try await run("-o", "out", base + "/x").status == 0)
        #expect(text("out") == "short")
        #expect(try await run("-o", "out", base + "/x").status == 0)
        #expect(text("out") == "")
        #expect(try await run("-v", "-o", "out", base + "/x").status == 0)
        let shown = try #require(text("out"))
        #expect(shown.hasPrefix("GET /x HTTP/1.1\n") && shown.hasSuffix("\n\nbody"), "\(shown)")
    }

    @Test(
        "a path that cannot be written is an error before anything is sent",
        arguments: [
            ["-o", "dir"], ["-o", "none/x"], ["-d", "-o", "dir/"], ["-d", "-o", "dir"], ["-d", "-o", "none/x"],
        ])
    func refusesBadPaths(options: [String]) async throws {
        try FileManager.default.createDirectory(at: folder.file("dir"), withIntermediateDirectories: false)
        let outcome = try await tool(options + [base + "/get"]).run()
        #expect(outcome.status == 1)
        #expect(outcome.errors.contains("cannot write \(options.last ?? "")"), "\(outcome.errors)")
        #expect(server.requests.isEmpty)
    }

    @Test("-o - writes to standard output, and is refused with --download")
    func dash() async throws {
        server.script("/x", .text("abc"))
        #expect(try await run("-o", "-", base + "/x").text == "abc")
        let download = try await run("-d", "-o", "-", base + "/x")
        #expect(download.status == 1 && download.errors.contains("--download saves a file"))
        #expect(folder.names.isEmpty)
    }

    @Test(
        "--curl and --offline print to standard output and leave the file of -o unchanged",
        arguments: [["--curl", "-d", "-c"], ["--offline", "-d"], ["--curl"]])
    func printsBesideTheFile(options: [String]) async throws {
        try folder.write("disk.img", "the beginning")
        let outcome = try await tool(options + ["-o", "disk.img", base + "/x"]).run()
        #expect(outcome.status == 0)
        #expect(outcome.text.contains("/x"), "\(outcome.errors)")
        #expect(text("disk.img") == "the beginning")
    }

    @Test("a WebSocket that does not open leaves the file as it was")
    func webSocket() async throws {
        try folder.write("kept", "precious")
        server.script("/x", .text("").faulting(.reset, at: .beforeHead))
        #expect(try await run("-I", "-v", "-o", "kept", "ws://\(base)/x").status == 1)
        #expect(text("kept") == "precious")
    }
}
