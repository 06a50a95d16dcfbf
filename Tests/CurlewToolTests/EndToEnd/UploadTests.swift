import CurlewCore
import CurlewTesting
import Foundation
import Testing

@testable import CurlewTool

@Suite("curlew with bodies from files and pipes, and its help commands", .timeLimit(.minutes(4)))
struct UploadTests: ToolSuite {
    let place: ToolPlace

    init() throws { place = try ToolPlace() }

    private func run(_ arguments: String..., input: String? = nil) async throws -> ToolProcess.Outcome {
        var tool = tool(arguments)
        tool.input = input.map { Data($0.utf8) }
        return try await tool.run()
    }

    @Test func sendsFilesInAForm() async throws {
        try folder.write("note.txt", "a note")
        let outcome = try await run("-f", "--print=B", base + "/post", "name=Ada", "file@note.txt")
        #expect(outcome.status == 0)
        let request = try #require(server.requests.first)
        let text = try #require(request.bodyText)
        #expect(request.headers["Content-Type"]?.hasPrefix("multipart/form-data; boundary=") == true)
        #expect(text.contains("name=\"name\"\r\n\r\nAda\r\n"))
        #expect(text.contains("name=\"file\"; filename=\"note.txt\"\r\n"))
        #expect(text.contains("Content-Type: text/plain"))
        #expect(text.contains("\r\n\r\na note\r\n"))
        // The request that is shown has the body that was sent.
        #expect(outcome.text.contains("a note"))
    }

    @Test func sendsAFileAsTheBody() async throws {
        try folder.write("data.json", "{\"a\": 1}")
        let outcome = try await run("-b", "PUT", base + "/put", "@data.json")
        #expect(outcome.status == 0)
        let request = try #require(server.requests.first)
        #expect(request.method == "PUT")
        #expect(request.bodyText == "{\"a\": 1}")
        #expect(request.headers["Content-Type"] == "application/json")
        #expect(request.headers["Content-Length"] == "8")
    }

    @Test("a command's output is sent as a body and as a file of a form", arguments: [["-b"], ["-v"]])
    func sendsWhatACommandWrites(_ options: [String]) async throws {
        let text = String(repeating: "piped ", count: 30_000)
        try folder.write("source", text)
        func shell(_ line: String) async throws -> ToolProcess.Outcome {
            var tool = ToolProcess("-c", "exec \"$0\" \(options[0]) \(line)", ToolProcess.executable.path)
            tool.program = URL(filePath: "/bin/bash")
            tool.folder = folder.url
            return try await tool.run()
        }
        #expect(try await shell("PUT \(base)/put @<(cat source)").status == 0)
        let whole = try #require(server.requests.last)
        #expect(whole.bodyText == text)
        #expect(whole.headers["Content-Length"] == "180000")
        #expect(try await shell("-f \(base)/post 'file@'<(cat source)';type=text/csv' name=Ada").status == 0)
        let form = try #require(server.requests.last?.bodyText)
        #expect(form.contains("\r\nContent-Type: text/csv\r\n\r\n\(text)\r\n"))
        #expect(form.contains("\r\n\r\nAda\r\n"))
    }

    @Test func sendsDevicesAndEmptyPipes() async throws {
        #expect(try await run("-b", "PUT", base + "/put", "@/dev/null").status == 0)
        #expect(server.requests.last?.headers["Content-Length"] == "0")
        #expect(try await run("-f", base + "/post", "none@/dev/null").status == 0)
        #expect(server.requests.last?.bodyText?.contains("filename=\"null\"") == true)
    }

    @Test func errorNamesTheMissingFile() async throws {
        let outcome = try await run(base + "/post", "-f", "file@missing.txt")
        #expect(outcome.status == 1)
        #expect(outcome.errors.contains("missing.txt"))
        #expect(server.requests.isEmpty)
    }

    @Test func chunkedOptionStreamsStandardInput() async throws {
        let text = String(repeating: "streamed ", count: 20_000)
        let outcome = try await run("--chunked", "POST", base + "/anything", input: text)
        #expect(outcome.status == 0)
        let request = try #require(server.requests.first)
        #expect(request.headers["Transfer-Encoding"] == "chunked")
        #expect(request.body == Data(text.utf8))
    }

    @Test("the error about a missing socket, key or input says what is missing")
    func saysWhatIsMissing() async throws {
        try folder.write("cert.pem", "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n")
        let rows: [([String], String)] = [
            (
                ["--unix-socket", "no.sock", "localhost/x"],
                "--unix-socket: there is no socket no.sock\n  Is its server running?\n"
            ),
            (["--unix-socket", "cert.pem", "localhost/x"], "--unix-socket: cert.pem is not a socket\n"),
            (
                ["--cert", "cert.pem", "https://localhost/x"],
                "there is no private key in cert.pem\n  Name the file that has it: --cert-key=FILE.\n"
            ),
            (
                ["--chunked", base + "/post"],
                "--chunked sends piped input, and there is none\n"
                    + "  Write 'COMMAND | curlew --chunked URL', or leave out --chunked.\n"
            ),
        ]
        for (words, text) in rows {
            let outcome = try await tool(words).run()
            #expect(outcome.status == 1)
            #expect(outcome.errors == "curlew: error: \(text)")
        }
        #expect(server.requests.isEmpty)
    }

    @Test func refusedUploadSetsExitCode() async throws {
        try folder.write("data.txt", "text")
        #expect(try await run("--check-status", base + "/status/503", "@data.txt").status == 5)
    }

    @Test(
        "--version, help and man print their text without a request",
        arguments: [
            (["--version"], "libcurl "), (["--help"], "curlew"), (["help", "items"], "items"),
            (["help", "--follow"], "--follow"), (["help", "-F"], "--follow"), (["man"], ".TH"),
        ])
    func tells(_ arguments: [String], _ expected: String) async throws {
        var tool = ToolProcess()
        tool.arguments = arguments
        let outcome = try await tool.run()
        #expect(outcome.status == 0)
        #expect(outcome.text.contains(expected))
        #expect(outcome.errors == "")
    }

    @Test func similarHelpTopicIsSuggested() async throws {
        let outcome = try await run("help", "itms")
        #expect(outcome.status == 1)
        #expect(outcome.errors.contains("Did you mean 'items'?"))
    }
}
