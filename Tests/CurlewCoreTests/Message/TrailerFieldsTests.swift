internal import CurlewCore
internal import Foundation
internal import Synchronization
internal import Testing

@Suite("Trailer fields", .timeLimit(.minutes(4)))
struct TrailerFieldsTests {
    @Test(
        "fields that describe what was sent may follow it",
        arguments: [
            "Content-Digest", "Repr-Digest", "Digest", "Content-MD5", "ETag", "Server-Timing", "X-Checksum",
            "grpc-status",
            "grpc-message", "Authentication-Info", "Date", "If", "Iffy", "Trailers",
        ])
    func permitted(_ name: String) {
        #expect(TrailerFields.permits(name))
        #expect(TrailerFields.permitted([HTTPHeader(name: name, value: "v")]).map(\.name) == [name])
    }

    @Test(
        "fields that are needed before the body may not",
        arguments: [
            "Content-Length", "Transfer-Encoding", "Trailer", "TE", "Connection", "Keep-Alive", "Proxy-Connection",
            "Upgrade", "HTTP2-Settings", "Host", "Location", "Via", "Forwarded", "Alt-Svc", "Authorization",
            "Proxy-Authorization", "WWW-Authenticate", "Proxy-Authenticate", "Cookie", "Set-Cookie", "Set-Cookie2",
            "Strict-Transport-Security", "Clear-Site-Data", "Content-Type", "Content-Encoding", "Content-Range",
            "Content-Location", "Content-Disposition", "Expect", "Max-Forwards", "Range", "If-Match", "If-None-Match",
            "If-Modified-Since", "Age", "Cache-Control", "Expires", "Pragma", "Retry-After", "Vary", "Warning",
        ])
    func forbidden(_ name: String) {
        for name in [name, name.lowercased(), name.uppercased()] {
            #expect(!TrailerFields.permits(name))
            #expect(TrailerFields.permitted([HTTPHeader(name: name, value: "v")]).isEmpty)
        }
    }

    @Test("the others stay in order, with duplicates")
    func order() {
        var fields: HTTPHeaders = ["A": "1"]
        for (name, value) in [("set-cookie", "s=1"), ("B", "2"), ("a", "3"), ("Host", "evil.example"), ("B", "4")] {
            fields.append(name: name, value: value)
        }
        let left = TrailerFields.permitted(fields)
        #expect(left.map { "\($0.name)=\($0.value)" } == ["A=1", "B=2", "a=3", "B=4"])
    }

    @Test(
        "what cannot be sent is an error, with the name and without the value",
        arguments: [
            ("Content-Length", "1"), ("AUTHORIZATION", "secret"), ("If-Match", "x"), ("A B", "x"), ("", "x"),
            ("X", "a\r\nY: b"), ("X", "a\u{0}b"), ("X", String(repeating: "x", count: 70_000)),
        ])
    func refused(_ name: String, _ value: String) {
        let trailers = RequestTrailers { ["X-First": "1", name: value] }
        let error = #expect(throws: CurlewError.self) { try trailers.fields() }
        #expect(error?.code == .invalidHeader)
        #expect(error?.reason.contains("secret") == false)
    }

    @Test("the closure is called for each end of the body")
    func calls() throws {
        let calls = Calls()
        let trailers = RequestTrailers { ["N": "\(calls.next())"] }
        #expect(try trailers.fields()["N"] == "1")
        #expect(try trailers.fields()["N"] == "2")
    }

    private final class Calls: Sendable {
        private let count = Atomic(0)

        func next() -> Int { count.add(1, ordering: .relaxed).newValue }
    }

    private final class Empty: BodyStream {
        var isReplayable: Bool { true }
        func open(waker: any BodyWaker) {}
        func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyRead { .end }
        func rewind() -> Bool { true }
        func close() {}
    }

    @Test("only a stream of unknown length carries them")
    func bodies() {
        #expect(throws: Never.self) { try BodySource.stream(Empty()).checkCarriesTrailers() }
        #expect(throws: Never.self) { try BodySource.stream(Empty(), length: -1).checkCarriesTrailers() }
        for body in [BodySource.none, .data(Data("x".utf8)), .file(.init(filePath: "/x")), .stream(Empty(), length: 0)]
        {
            let error = #expect(throws: CurlewError.self) { try body.checkCarriesTrailers() }
            #expect(error?.code == .invalidBody)
        }
    }
}
