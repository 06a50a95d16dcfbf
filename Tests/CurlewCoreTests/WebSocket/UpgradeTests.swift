internal import CurlewCore
internal import Foundation
internal import Testing

@Suite("HTTP upgrade", .timeLimit(.minutes(4)))
struct UpgradeTests {
    /// Returns the parser's events. Consecutive pieces of the body are joined.
    private static func events(in pieces: [ArraySlice<UInt8>], limit: Int = 1000) throws -> [UpgradeResponseParser
        .Event]
    {
        var parser = UpgradeResponseParser(maximumHeaderSize: limit)
        var events: [UpgradeResponseParser.Event] = []
        for piece in pieces {
            try Array(piece).withUnsafeBytes { buffer in
                var input = buffer
                while let event = try parser.next(&input) {
                    if case .body(let next) = event, case .body(let last)? = events.last {
                        events[events.count - 1] = .body(last + next)
                    } else {
                        events.append(event)
                    }
                }
            }
        }
        try parser.finish()
        return events
    }

    private static func head(_ status: Int, _ reason: String, _ fields: [(String, String)]) -> ResponseHead {
        ResponseHead(
            status: status, reason: reason,
            headers: HTTPHeaders(received: fields.map { HTTPHeader(name: $0, value: $1) }))
    }

    @Test(
        "a response is parsed equally wherever it is split",
        arguments: [
            (
                "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 3\r\nX:  a b \r\n\r\nabc",
                [
                    .informational(head(103, "Early Hints", [("Link", "</a>")])),
                    .head(head(404, "Not Found", [("Content-Length", "3"), ("X", "a b")])), .body(Data("abc".utf8)),
                    .end,
                ]
            ),
            (
                "HTTP/1.1 500\nTransfer-Encoding: chunked\n\n3;x=y\nabc\n00A\n0123456789\n0\nX: y\n\n",
                [.head(head(500, "", [("Transfer-Encoding", "chunked")])), .body(Data("abc0123456789".utf8)), .end]
            ),
            ("HTTP/1.1 200 OK\r\n\r\nto the end", [.head(head(200, "OK", [])), .body(Data("to the end".utf8))]),
            ("HTTP/1.1 204 No Content\r\n\r\n", [.head(head(204, "No Content", [])), .end]),
            ("HTTP/1.1 101 Yes\r\nA: b\r\n\r\n", [.head(head(101, "Yes", [("A", "b")]))]),
        ] as [(String, [UpgradeResponseParser.Event])])
    func everySplit(text: String, expected: [UpgradeResponseParser.Event]) throws {
        let bytes = Array(text.utf8)
        for cut in 0...bytes.count {
            #expect(try Self.events(in: [bytes[..<cut], bytes[cut...]]) == expected, "cut at \(cut)")
        }
    }

    @Test("the bytes after a 101 are left to the caller")
    func switching() throws {
        var parser = UpgradeResponseParser(maximumHeaderSize: 1000)
        try Array("HTTP/1.1 101 Yes\r\nContent-Length: 9\r\n\r\nabc".utf8).withUnsafeBytes { buffer in
            var input = buffer
            _ = try parser.next(&input)
            let next = try parser.next(&input)
            #expect(next == nil)
            #expect(input.elementsEqual("abc".utf8))
        }
    }

    @Test(
        "a malformed or incomplete response is refused",
        arguments: [
            ("HTTP/2 200 OK\r\n\r\n", .protocolViolation), ("SSH-2.0-OpenSSH\r\n", .protocolViolation),
            ("HTTP/1.1 20 OK\r\n", .protocolViolation), ("HTTP/1.1 2000 OK\r\n", .protocolViolation),
            ("HTTP/1.1 200 OK\r\nno field\r\n", .protocolViolation), ("HTTP/1.1 200 OK\r\n: x\r\n", .protocolViolation),
            ("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", .protocolViolation),
            ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", .protocolViolation),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", .protocolViolation),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", .protocolViolation),
            ("HTTP/1.1 200 OK\r\nX: " + String(repeating: "x", count: 1000), .limitExceeded),
            ("", .receiveFailed), ("HTTP/1.1 200 OK\r\n", .receiveFailed),
            ("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc", .truncated),
        ] as [(String, CurlewError.Code)])
    func broken(text: String, code: CurlewError.Code) {
        let error = #expect(throws: CurlewError.self) { try Self.events(in: [Array(text.utf8)[...]]) }
        #expect(error?.code == code)
    }

    @Test("a head that arrives byte by byte is counted once toward the limit")
    func pieces() throws {
        let text = "HTTP/1.1 101 Yes\r\nA: \(String(repeating: "b", count: 900))\r\n\r\n"
        let bytes = Array(text.utf8)
        let events = try Self.events(in: bytes.indices.map { bytes[$0...$0] })
        #expect(events.count == 1)
    }

    @Test("informational heads count toward the limit")
    func endlessHints() throws {
        var parser = UpgradeResponseParser(maximumHeaderSize: 1000)
        let hint = Array("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".utf8)
        let error = #expect(throws: CurlewError.self) {
            for _ in 0..<100 {
                try hint.withUnsafeBytes { buffer in
                    var input = buffer
                    while try parser.next(&input) != nil {}
                }
            }
        }
        #expect(error?.code == .limitExceeded)
    }

    @Test(
        "the upgrade request has the right target and Host field",
        arguments: [
            ("http://example.org", "GET / HTTP/1.1\r\nHost: example.org\r\nA: b\r\n\r\n"),
            ("https://example.org:443/a%20b?c=d", "GET /a%20b?c=d HTTP/1.1\r\nHost: example.org\r\nA: b\r\n\r\n"),
            ("http://[::1]:8080/x", "GET /x HTTP/1.1\r\nHost: [::1]:8080\r\nA: b\r\n\r\n"),
        ])
    func request(url: String, expected: String) throws {
        let bytes = UpgradeRequestHead.bytes(for: try #require(URL(string: url)), headers: ["A": "b"])
        #expect(String(decoding: bytes, as: UTF8.self) == expected)
    }
}
