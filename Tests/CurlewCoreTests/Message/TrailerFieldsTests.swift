internal import CurlewCore
internal import Foundation
internal import Synchronization
internal import Testing

@Suite("Trailer fields", .timeLimit(.minutes(4)))
struct TrailerFieldsTests {
    @Test(
        "a field that describes the sent body is permitted as a trailer",
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
        "a field that is needed before the body is not permitted as a trailer",
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

    @Test("permitted trailers keep their order and their duplicates")
    func order() {
        var fields: HTTPHeaders = ["A": "1"]
        for (name, value) in [("set-cookie", "s=1"), ("B", "2"), ("a", "3"), ("Host", "evil.example"), ("B", "4")] {
            fields.append(name: name, value: value)
        }
        let left = TrailerFields.permitted(fields)
        #expect(left.map { "\($0.name)=\($0.value)" } == ["A=1", "B=2", "a=3", "B=4"])
    }

    @Test(
        "a trailer that cannot be sent is an error that does not show its value",
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

    @Test("trailers are sent up to 64 KiB together, and not beyond", arguments: [4096, 4097])
    func total(count: Int) throws {
        // A field costs the bytes of its line: a name, a value, a colon, a space and the line's end.
        let trailers = RequestTrailers {
            var fields = HTTPHeaders()
            for _ in 0..<count { fields.append(name: "X-Part", value: "123456") }
            return fields
        }
        if count == 4096 {
            #expect(try trailers.fields().count == count)
        } else {
            let error = #expect(throws: CurlewError.self) { try trailers.fields() }
            #expect(error?.code == .invalidHeader && error?.reason.contains("65536") == true)
        }
    }

    @Test("the closure that makes the trailers is called each time they are needed")
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

    @Test("only a stream of unknown length can carry trailers")
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
