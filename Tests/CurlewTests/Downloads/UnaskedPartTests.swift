import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

/// Responses with status 206 to requests for the whole resource.
@Suite("Partial responses that were not requested", .timeLimit(.minutes(4)))
struct UnaskedPartTests {
    let session = Session()

    static let cases: [(headers: HTTPHeaders, isFile: Bool, isData: Bool)] = [
        (["Content-Range": "bytes 500-509/1000000"], false, false),
        (["Content-Range": "bytes 0-9/1000000"], false, false), (["Content-Range": "bytes 0-9/*"], false, false),
        (["Content-Range": "nonsense"], false, false),
        (["Content-Type": "multipart/byteranges; boundary=x"], false, false),
        (["Content-Range": "bytes 0-9/10"], true, true), ([:], false, true),
    ]

    private func server(_ headers: HTTPHeaders) throws -> TestServer {
        let server = try TestServer()
        server.route("/file") { _ in
            var response = TestServer.Response(status: 206, body: .data(Data("0123456789".utf8)))
            for header in headers { response.headers.add(header) }
            return response
        }
        return server
    }

    @Test("an unrequested part is an error, unless it is the whole", arguments: cases)
    func plain(_ headers: HTTPHeaders, _ isFile: Bool, _ isData: Bool) async throws {
        let server = try server(headers)
        let scratch = try ScratchDirectory()
        let file = await session.download(server.url("/file"), to: destination(scratch.file("a"))).response()
        #expect(file.error?.code == (isFile ? nil : .protocolViolation))
        #expect(file.error?.responseCode == (isFile ? nil : 206))
        #expect(scratch.names == (isFile ? ["a"] : []))
        let data = await session.request(server.url("/file")).response()
        #expect(data.error?.code == (isData ? nil : .protocolViolation))
        #expect((data.data?.count == 10) == isData)
        do throws(CurlewError) {
            _ = try await session.streamRequest(server.url("/file")).head()
            #expect(isData)
        } catch {
            #expect(error.code == .protocolViolation && !isData)
        }
    }

    @Test("onHTTPResponse is not called for an unrequested part")
    func hidden() async throws {
        let server = try server(["Content-Range": "bytes 500-509/1000000"])
        let asked = Lock(0)
        let request = session.request(server.url("/file")).onHTTPResponse { _ in
            asked.withLock { $0 += 1 }
            return .allow
        }
        #expect(await request.response().error?.code == .protocolViolation)
        #expect(asked.withLock { $0 } == 0 && request.response?.statusCode == 206)
    }

    @Test("a request with its own Range field accepts a partial response")
    func asked() async throws {
        let server = try server(["Content-Range": "bytes 500-509/1000000"])
        let own: HTTPHeaders = ["range": "bytes=500-509"]
        #expect(try await session.request(server.url("/file"), headers: own).data().count == 10)
        let scratch = try ScratchDirectory()
        _ = try await session.download(server.url("/file"), headers: own, to: destination(scratch.file("a"))).file()
        #expect(scratch.file("a").text == "0123456789")
        let configured = Session(
            configuration: SessionConfiguration { $0.headers.add(name: "Range", value: "bytes=5-") })
        #expect(try await configured.request(server.url("/file")).data().count == 10)
    }

    @Test("an unrequested part does not complete a resumed download that had to start over")
    func startedOver() async throws {
        let server = try server(["Content-Range": "bytes 0-9/1000000", "ETag": "\"v2\""])
        let scratch = try ScratchDirectory()
        let part = try TemporaryFile.create(in: scratch.path)
        try Array("01234".utf8).withUnsafeBytes { try part.write($0, at: 0) }
        part.keep()
        let data = ResumeData(
            url: server.url("/file"), validator: .entityTag("\"v1\""), bytesWritten: 5, expectedTotal: 1_000_000,
            file: part.url.plainPath)
        let request = session.download(resumingWith: data.encoded, to: destination(scratch.file("a")))
        let error = await #expect(throws: CurlewError.self) { try await request.file() }
        #expect(error?.code == .protocolViolation)
        #expect(server.requestCount == 2)
        #expect(scratch.names == [])
    }
}
