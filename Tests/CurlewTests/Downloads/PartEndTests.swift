import CurlewCore
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

/// Bodies of parts that do not end with the file, or not at the length that their head announces.
@Suite("Bodies of partial responses with a wrong end", .timeLimit(.minutes(1)))
struct PartEndTests {
    let session = Session()
    let contents = "0123456789abcdefghijABCDEFGHIJ"

    /// Returns resume data for a file with these first bytes, as a download would have left it.
    private func part(
        _ written: String, of url: URL, in scratch: ScratchDirectory, total: Int64?, segments: [FileSegment]? = nil
    ) throws -> Data {
        let file = try TemporaryFile.create(in: scratch.path)
        try Array(written.utf8).withUnsafeBytes { try file.write($0, at: 0) }
        file.keep()
        return ResumeData(
            url: url, validator: .entityTag("\"v1\""),
            bytesWritten: segments?.reduce(0) { $0 + $1.written } ?? Int64(written.utf8.count), expectedTotal: total,
            file: file.url.plainPath, segments: segments
        ).encoded
    }

    /// A partial response in chunked framing, so no `Content-Length` says how much is missing.
    private static func part(_ contentRange: String, _ body: String) -> TestServer.Response {
        var response = TestServer.Response(status: 206, body: .data(Data(body.utf8)))
        response.headers["Content-Range"] = contentRange
        response.headers["ETag"] = "\"v1\""
        response.framing = .chunked
        return response
    }

    @Test("a rest of a file of unknown length does not complete the download; the whole is requested")
    func unknownLength() async throws {
        let server = try TestServer()
        let contents = contents
        server.route("/file") { request in
            request.headers["Range"] == nil ? .text(contents) : Self.part("bytes 4-6/*", "456")
        }
        let scratch = try ScratchDirectory()
        let data = try part("01234", of: server.url("/file"), in: scratch, total: nil)
        let url = try await session.download(resumingWith: data, to: destination(scratch.file("a"))).file()
        #expect(url.text == contents)
        #expect(server.requests.map { $0.headers["Range"] } == ["bytes=4-", nil])
        #expect(scratch.names == ["a"])
    }

    @Test("a rest that is longer than the file is an error, and the partial file can be resumed")
    func longRest() async throws {
        let server = try TestServer()
        let contents = contents
        server.script("/file", Self.part("bytes 5-29/30", contents.dropFirst(5) + "and more"))
        let scratch = try ScratchDirectory()
        let data = try part("01234", of: server.url("/file"), in: scratch, total: 30)
        let request = session.download(resumingWith: data, to: destination(scratch.file("a")))
        let error = await #expect(throws: CurlewError.self) { try await request.file() }
        #expect(error?.code == .protocolViolation)
        let left = try ResumeData(#require(request.resumeData))
        #expect((5...30).contains(left.bytesWritten))
        let rest = contents.dropFirst(Int(min(left.bytesWritten, 29)))
        server.script("/file", Self.part("bytes \(30 - rest.count)-29/30", String(rest)))
        let url = try await session.download(resumingWith: left.encoded, to: destination(scratch.file("a"))).file()
        #expect(url.text == contents)
        #expect(scratch.names == ["a"])
    }

    @Test("a segment that is longer than announced is an error and does not overwrite the next one")
    func longSegment() async throws {
        let server = try TestServer()
        let contents = contents
        server.script("/file", Self.part("bytes 13-19/30", "defghij#####"))
        let scratch = try ScratchDirectory()
        var segments = [FileSegment(0..<10), FileSegment(10..<20), FileSegment(20..<30)]
        segments[0].written = 10
        segments[1].written = 3
        segments[2].written = 10
        let data = try part(contents, of: server.url("/file"), in: scratch, total: 30, segments: segments)
        let request = session.download(resumingWith: data, to: destination(scratch.file("a")))
        let error = await #expect(throws: CurlewError.self) { try await request.file() }
        #expect(error?.code == .protocolViolation)
        let left = try #require(request.resumeData)
        // If only the surplus was refused, nothing is missing, and the resumed download requests the last byte again.
        server.route("/file") { request in
            let first = Int(request.headers["Range"]?.dropFirst(6).prefix { $0 != "-" } ?? "") ?? 0
            let last = Int(request.headers["Range"]?.split(separator: "-").last ?? "") ?? 0
            let bytes = contents.dropFirst(first).prefix(last - first + 1)
            return Self.part("bytes \(first)-\(last)/30", String(bytes))
        }
        let url = try await session.download(resumingWith: left, to: destination(scratch.file("a"))).file()
        #expect(url.text == contents)
        #expect(scratch.names == ["a"])
    }

    @Test(
        "a partial response that becomes a file must have the length of its Content-Range",
        arguments: [("01234", CurlewError.Code.truncated), ("0123456789", nil), ("0123456789ab", .protocolViolation)],
        [true, false])
    func wholeFile(_ body: (text: String, code: CurlewError.Code?), isAskedFor: Bool) async throws {
        let server = try TestServer()
        server.route("/file") { _ in
            var response = Self.part(isAskedFor ? "bytes 0-9/*" : "bytes 0-9/10", body.text)
            response.headers["ETag"] = nil
            return response
        }
        let scratch = try ScratchDirectory()
        let headers: HTTPHeaders? = isAskedFor ? ["Range": "bytes=0-9"] : nil
        let response = await session.download(
            server.url("/file"), headers: headers, to: destination(scratch.file("a"))
        ).response()
        #expect(response.error?.code == body.code)
        #expect(scratch.names == (body.code == nil ? ["a"] : []))
    }
}
