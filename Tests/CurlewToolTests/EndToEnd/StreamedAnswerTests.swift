import CurlewCore
import CurlewTesting
import Dispatch
import Foundation
import Testing

@testable import CurlewTool

@Suite("curlew with streamed responses", .timeLimit(.minutes(4)))
struct StreamedAnswerTests: ToolSuite {
    let place: ToolPlace

    init() throws { place = try ToolPlace() }

    /// A running `curlew` whose input a test writes and whose output it reads.
    private struct Live {
        let input = Pipe()
        let output: AsyncStream<Data>
        let ended: ToolProcess.Ended
        private let process = Process()

        init(_ tool: ToolProcess) throws {
            let pipe = Pipe()
            let (stream, continuation) = AsyncStream.makeStream(of: Data.self)
            output = stream
            ended = ToolProcess.Ended(process)
            process.executableURL = tool.program
            process.arguments = tool.arguments
            process.environment = tool.fullEnvironment
            process.currentDirectoryURL = tool.folder
            process.standardInput = input
            process.standardOutput = pipe
            try process.run()
            let reading = pipe.fileHandleForReading.fileDescriptor
            DispatchQueue(label: "output").async {
                while let piece = try? InputFile.readPiece(reading) { continuation.yield(Data(piece)) }
                continuation.finish()
                // Foundation's `Process` retains itself and its pipes, so the descriptor is closed here.
                try? pipe.fileHandleForReading.close()
            }
        }

        func write(_ text: String) throws { try input.send(Data(text.utf8)) }

        func close() throws { try input.fileHandleForWriting.close() }
    }

    @Test(
        "the beginning of a response is written before its end arrives, whatever the request's body",
        arguments: [["@data.json"], ["-f", "part@data.json"], ["--raw", "text"], []])
    func writesTheBeginning(_ words: [String]) async throws {
        try folder.write("data.json", "{}")
        let gate = Gate()
        server.script(
            "/slow",
            TestServer.Response(body: .chunks([Data("first\n".utf8), Data("last\n".utf8)]))
                .stalling(until: gate, at: .inBody(after: 6)))
        var tool = ToolProcess("POST", base + "/slow")
        tool.arguments += words
        tool.folder = folder.url
        let live = try Live(tool)
        try live.close()
        var text = Data()
        for await piece in live.output {
            text += piece
            if text == Data("first\n".utf8) { gate.open() }
        }
        #expect(await live.ended.status() == 0)
        #expect(text == Data("first\nlast\n".utf8))
    }

    @Test func responseIsWrittenWhileBodyIsStillSent() async throws {
        server.script("/echo", TestServer.Response(body: .echo))
        let live = try Live(ToolProcess("--chunked", "POST", base + "/echo"))
        try live.write("one\n")
        var text = ""
        for await piece in live.output {
            text += String(decoding: piece, as: UTF8.self)
            switch text {
            case "one\n": try live.write("two\n")
            case "one\ntwo\n": try live.close()
            default: break
            }
        }
        #expect(await live.ended.status() == 0)
        #expect(text == "one\ntwo\n")
        #expect(server.requests.last?.bodyText == "one\ntwo\n")
    }

    @Test("-h does not read the response's body", arguments: [["-h"], ["--print=Hh"], ["-h", "--check-status"]])
    func leavesTheBody(_ words: [String]) async throws {
        server.script(
            "/endless",
            TestServer.Response(
                status: 200, headers: ["Set-Cookie": "a=b"],
                body: .generated(length: nil) { offset, most in TestServer.patternBytes(from: offset, count: most) }))
        let outcome = try await tool(words + ["--session", "./s.json", base + "/endless"]).run()
        #expect(outcome.status == 0)
        #expect(outcome.lines.contains("HTTP/1.1 200 OK"))
        #expect(outcome.errors == "")
        // The cookie of the head is stored, although the body is not read.
        #expect(String(decoding: folder.read("s.json") ?? Data(), as: UTF8.self).contains("\"a\""))
        try await server.waitForOpenConnections(atMost: 0)
    }

    @Test func wholeBodyIsSentIfOnlyTheHeadIsPrinted() async throws {
        try folder.write("large", TestServer.patternBytes(from: 0, count: 3_000_000))
        server.script("/echo", TestServer.Response(body: .echo))
        var tool = ToolProcess("-h", base + "/echo", "@large")
        tool.folder = folder.url
        #expect(try await tool.run().status == 0)
        try await server.waitForRequests(count: 1)
        #expect(server.requests.last?.bodyByteCount == 3_000_000)
    }
}
