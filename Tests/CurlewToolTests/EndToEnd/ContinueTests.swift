import Curlew
import CurlewCore
import CurlewTesting
import Foundation
import Testing

@testable import CurlewTool

@Suite("curlew --continue without a resume file", .timeLimit(.minutes(4)))
struct ContinueTests: ToolSuite {
    let place: ToolPlace
    private let size = 300_000
    private let whole: Data

    init() throws {
        place = try ToolPlace()
        whole = TestServer.patternBytes(count: size)
    }

    private func run(_ arguments: String...) async throws -> ToolProcess.Outcome {
        try await tool(["-d", "-c"] + arguments).run()
    }

    /// Expects that the tool failed, and left the file and the folder unchanged.
    private func expectUntouched(_ data: Data, after outcome: ToolProcess.Outcome) {
        #expect(outcome.status == 1)
        #expect(folder.names == ["file"])
        #expect(folder.read("file") == data)
        #expect(outcome.errors.contains("Without --continue it is fetched from its beginning."))
    }

    @Test("the rest is fetched with If-Range, after the file's last bytes have been compared")
    func fetchesTheRest() async throws {
        try folder.write("file", whole.prefix(100_000))
        let outcome = try await run("-o", "file", base + "/range/\(size)", "X-Token:t")
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(folder.names == ["file"])
        #expect(folder.read("file") == whole)
        #expect(server.requests.map { $0.headers["Range"] } == ["bytes=34464-99999", "bytes=100000-"])
        #expect(server.requests.last?.headers["If-Range"] == "\"range\(size)-0\"")
        // The token of the second request is the one on the command line, because the resume data lacks it.
        #expect(server.requests.map { $0.headers["X-Token"] } == ["t", "t"])
    }

    @Test func continueFindsFileNamedByURL() async throws {
        try folder.write("\(size)", whole.prefix(1))
        #expect(try await run(base + "/range/\(size)").status == 0)
        #expect(folder.names == ["\(size)"])
        #expect(folder.read("\(size)") == whole)
    }

    @Test func continueEndsAtOnceIfFileIsComplete() async throws {
        try folder.write("file", whole)
        #expect(try await run("-o", "file", base + "/range/\(size)").status == 0)
        #expect(folder.names == ["file"])
        #expect(folder.read("file") == whole)
        #expect(server.bytesSent < 80_000)
    }

    @Test func continueStartsFromTheBeginningWithoutFile() async throws {
        let outcome = try await run("-o", "file", base + "/range/\(size)")
        #expect(outcome.status == 0)
        #expect(!outcome.errors.contains("warning"))
        #expect(folder.read("file") == whole)
        #expect(server.requests.map { $0.headers["Range"] } == [nil])
    }

    @Test func continueKeepsFileThatDiffers() async throws {
        let other = Data(repeating: 7, count: 100_000)
        try folder.write("file", other)
        let outcome = try await run("-o", "file", base + "/range/\(size)")
        expectUntouched(other, after: outcome)
        #expect(outcome.errors.contains("file is not the beginning of the file on the server: the last bytes differ"))
    }

    @Test func continueKeepsLongerFile() async throws {
        let longer = whole + Data([1])
        try folder.write("file", longer)
        let outcome = try await run("-o", "file", base + "/range/\(size)")
        expectUntouched(longer, after: outcome)
        #expect(outcome.errors.contains("file is longer than the file on the server"))
    }

    @Test func continueDoesNotStartOverWithoutRanges() async throws {
        server.script("/whole", .data(whole))
        try folder.write("file", whole.prefix(100_000))
        let outcome = try await run("-o", "file", base + "/whole")
        expectUntouched(whole.prefix(100_000), after: outcome)
        #expect(outcome.errors.contains("the server sends the whole file or nothing"))
    }

    @Test func continueKeepsFileIfServerHasNone() async throws {
        try folder.write("file", "part")
        let outcome = try await run("-o", "file", base + "/status/404")
        #expect(outcome.status == 4)
        #expect(outcome.errors.contains("curlew: error: file: the server answered 404"))
        #expect(folder.names == ["file"])
    }

    @Test("Ctrl-C before the server responds leaves the file unchanged")
    func isInterruptedWhileItAsks() async throws {
        try folder.write("file", "part")
        let outcome = try await tool("-d", "-c", "-o", "file", base + "/hang").run { pid in
            try await server.waitForRequests(count: 1)
            kill(pid, SIGINT)
        }
        #expect(outcome.status == 130)
        #expect(folder.names == ["file"])
        #expect(folder.read("file") == Data("part".utf8))
    }

    @Test("SIGINT and SIGTERM are handled by the time the server receives the first request")
    func catchesSignalsFirst() async throws {
        var caught: UInt64 = 0
        let outcome = try await tool("-d", "-o", "file", base + "/hang").run { pid in
            try await server.waitForRequests(count: 1)
            let text = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
            caught = try UInt64(#require(text.firstMatch(of: /SigCgt:\s*([0-9a-f]+)/)).output.1, radix: 16) ?? 0
            kill(pid, SIGINT)
        }
        let both: UInt64 = 1 << (SIGINT - 1) | 1 << (SIGTERM - 1)
        #expect(caught & both == both)
        #expect(outcome.status == 130)
        #expect(outcome.errors.contains("curlew: file: interrupted before any data arrived\n"), "\(outcome.errors)")
    }

    @Test("resuming one of curlew's own downloads sends the header fields of the command line")
    func resendsTheFields() async throws {
        server.script(
            "/range/\(size)",
            TestServer.Response.bytes(Int64(size)).header("ETag", "\"range\(size)-0\"")
                .faulting(.reset, at: .inBody(after: 50_000)))
        let arguments = ["-o", "file", base + "/range/\(size)", "Authorization:Bearer t"]
        #expect(try await tool(["-d"] + arguments).run().status == 1)
        #expect(try await tool(["-d", "-c"] + arguments).run().status == 0)
        #expect(server.requests.map { $0.headers["Authorization"] } == ["Bearer t", "Bearer t"])
        #expect(folder.read("file") == whole)
    }
}

@Suite("Unfinished files of other programs")
struct UnfinishedFileTests {
    private static let end = Data("0123456789".utf8)

    private func head(_ status: Int, _ headers: [String: String]) -> ResponseHead {
        ResponseHead(status: status, headers: HTTPHeaders(headers))
    }

    private func refusal(_ head: ResponseHead, body: Data = end) -> String? {
        let file = UnfinishedFile(path: "f", size: 10)
        do throws(UsageError) {
            _ = try file.match(head, body: body, end: Self.end)
            return nil
        } catch {
            return error.message
        }
    }

    @Test(arguments: [(1, 0...0), (65_536, 0...65_535), (65_537, 1...65_536), (1_000_000, 934_464...999_999)])
    func last64KiBOfFileAreCompared(_ size: Int64, _ compared: ClosedRange<Int64>) {
        #expect(UnfinishedFile(path: "f", size: size).compared == compared)
    }

    @Test func endOfFileIsRead() throws {
        let scratch = try ScratchDirectory()
        let bytes = TestServer.patternBytes(count: 100_000)
        let path = try scratch.write("f", bytes).path
        #expect(try UnfinishedFile(at: path)?.end() == bytes.suffix(65_536))
        #expect(UnfinishedFile(at: try scratch.write("empty", "").path) == nil)
        #expect(UnfinishedFile(at: path + "-not") == nil)
        #expect(UnfinishedFile(at: scratch.path) == nil)
    }

    @Test(arguments: [("bytes 0-9/10", Int64(10)), ("bytes 0-9/25", 25), ("bytes 0-9/*", nil)])
    func matchingResponseContinuesTheFile(_ range: String, _ total: Int64?) throws {
        let file = UnfinishedFile(path: "f", size: 10)
        let tagged = try file.match(
            head(206, ["Content-Range": range, "ETag": "\"v\""]), body: Self.end, end: Self.end)
        #expect(tagged == UnfinishedFile.Match(validator: .entityTag("\"v\""), total: total))
        let date = "Tue, 15 Nov 1994 12:45:26 GMT"
        let dated = try file.match(
            head(206, ["Content-Range": range, "Last-Modified": date]), body: Self.end, end: Self.end)
        #expect(dated.validator == .lastModified(date))
    }

    @Test func responseThatDoesNotContinueFileIsRefused() {
        let range = "bytes 0-9/25"
        let tag = "\"v\""
        #expect(refusal(head(206, ["Content-Range": range, "ETag": tag])) == nil)
        #expect(refusal(head(200, ["ETag": tag]))?.contains("the whole file or nothing") == true)
        #expect(refusal(head(416, [:]))?.contains("longer than the file") == true)
        #expect(refusal(head(206, ["Content-Range": "bytes 0-7/8", "ETag": tag]))?.contains("longer than") == true)
        #expect(refusal(head(206, ["Content-Range": "bytes 3-9/25", "ETag": tag]))?.contains("different part") == true)
        #expect(refusal(head(206, ["ETag": tag]))?.contains("different part") == true)
        #expect(refusal(head(206, ["Content-Range": range]))?.contains("which version") == true)
        #expect(refusal(head(206, ["Content-Range": range, "ETag": "W/\"v\""]))?.contains("which version") == true)
        let encoded = ["Content-Range": range, "ETag": tag, "Content-Encoding": "gzip"]
        #expect(refusal(head(206, encoded))?.contains("encoded (gzip)") == true)
        #expect(refusal(head(206, ["Content-Range": range, "ETag": tag]), body: Data())?.contains("differ") == true)
    }
}
