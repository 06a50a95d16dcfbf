import CurlewCore
import Testing

@testable import CurlewTransport

@Suite("Head collector")
struct HeadCollectorTests {
    private func feed(_ lines: [String]) -> (events: [HeadCollector.Event], collector: HeadCollector) {
        var collector = HeadCollector()
        let events = lines.map { line in
            var line = line
            return line.withUTF8 { collector.parse(UnsafeRawBufferPointer($0)) }
        }
        return (events, collector)
    }

    private func head(_ lines: [String]) -> ResponseHead? {
        for event in feed(lines).events.reversed() { if case .head(let head) = event { return head } }
        return nil
    }

    @Test func statusLinesAreParsed() {
        let cases: [(String, Int, String, HTTPVersion)] = [
            ("HTTP/1.1 200 OK", 200, "OK", .http1_1), ("HTTP/1.0 404 Not Found", 404, "Not Found", .http1_0),
            ("HTTP/2 204 ", 204, "", .http2), ("HTTP/3 200", 200, "", .http3), ("HTTP/1.1 299", 299, "", .http1_1),
            ("HTTP/1.1  200  two", 200, " two", .http1_1),
        ]
        for (line, status, reason, version) in cases {
            let head = head([line + "\r\n", "\r\n"])
            #expect(head == ResponseHead(status: status, reason: reason, version: version))
        }
    }

    @Test(arguments: [
        "garbage", "HTTP/1.1", "HTTP/1.1 abc", "HTTP/1.1 20", "HTTP/1.1 2000", "HTTP/1.1 099 x", "HTTP/\t2.0 200 OK",
    ])
    func malformedStatusLinesAreRefused(_ line: String) {
        guard case .malformed = feed([line + "\r\n"]).events[0] else {
            Issue.record("accepted \(line)")
            return
        }
    }

    @Test func headerFieldsAreParsed() {
        let head = head([
            "HTTP/1.1 200 OK\r\n", "A: 1\r\n", "a:  2 \r\n", "Folded: one\r\n", "  two\r\n", "no colon\r\n",
            ": no name\r\n",
            "Empty:\r\n", "Date: Sun, 06 Nov 1994 08:49:37 GMT\n", "\r\n",
        ])
        #expect(
            head?.headers.map(\.description) == [
                "A: 1", "a: 2", "Folded: one two", "Empty: ", "Date: Sun, 06 Nov 1994 08:49:37 GMT",
            ])
    }

    @Test func foldedLinesAreJoinedInFieldsAndTrailers() {
        let (events, fed) = feed([
            "HTTP/1.1 200 OK\r\n", "A: 1\r\n", "\t2\r\n", " 3 \r\n", "B: 4\r\n", "C:\r\n", " 5\r\n",
            "\r\n",
            "T: 6\r\n", " 7\r\n",
        ])
        guard case .head(let head) = events[7] else { return #expect(Bool(false)) }
        #expect(head.headers.map(\.description) == ["A: 1 2 3", "B: 4", "C:  5"])
        var collector = fed
        let trailers = collector.takeTrailers()
        #expect(trailers == [HTTPHeader(name: "T", value: "6 7")])
    }

    @Test("a carriage return within a line is refused, several at the end of a line are accepted")
    func carriageReturns() {
        let start = "HTTP/1.1 200 OK\r\n"
        let broken = [
            ["HTTP/1.1 200\rOK\n"], [start, "\rA: 1\n"], [start, "A: 1\rB: 2\r\n"], [start, "A: 1\r\r2\r\n"],
            [start, "\r\n", "T: 1\rU: 2\r\n"],
        ]
        for lines in broken {
            guard case .malformed? = feed(lines).events.last else {
                Issue.record("not refused: \(lines)")
                continue
            }
        }
        #expect(head([start, "A: 1\r\r\n", "\r\n"])?.headers["A"] == "1")
    }

    @Test(arguments: [" A: 1\r\n", "\tA: 1\r\n", " \r\n"])
    func foldedLineBeforeAnyFieldIsRefused(_ line: String) {
        for before in [[], ["HTTP/1.1 103 Early Hints\r\n", "Link: a\r\n", "\r\n"]] {
            let events = feed(before + ["HTTP/1.1 200 OK\r\n", line]).events
            guard case .malformed("the head begins with a folded line")? = events.last else {
                Issue.record("not refused: \(events)")
                continue
            }
        }
    }

    @Test(arguments: [
        ("5", nil), ("005", nil), ("5, 5", nil), ("9223372036854775807", nil), (" 5 \t", nil),
        ("", "Content-Length is not a number"), ("-5", "Content-Length is not a number"),
        ("0x20", "Content-Length is not a number"), ("30s", "Content-Length is not a number"),
        ("30,", "Content-Length is not a number"), ("3 0", "Content-Length is not a number"),
        ("9223372036854775808", "Content-Length is above 64 bits"),
        ("99999999999999999999999", "Content-Length is above 64 bits"),
        ("5, 6", "there are two different Content-Length fields"),
    ])
    func contentLengthIsValidated(_ value: String, _ problem: String?) {
        let events = feed(["HTTP/1.1 200 OK\r\n", "content-length: \(value)\r\n", "\r\n"]).events
        switch events[2] {
        case .head: #expect(problem == nil)
        case .malformed(let reason): #expect(reason == problem)
        case .none, .started, .informational: Issue.record("\(events[2])")
        }
    }

    @Test func informationalHeadFinalHeadAndTrailersAreSeparated() {
        let (events, fed) = feed([
            "HTTP/1.1 100 Continue\r\n", "\r\n", "HTTP/1.1 200 OK\r\n", "\r\n", "X-Sum: 1\r\n", "\r\n",
        ])
        if case .informational(let head) = events[1] { #expect(head.status == 100) } else { Issue.record("no 100") }
        if case .head(let head) = events[3] { #expect(head.status == 200) } else { Issue.record("no 200") }
        var collector = fed
        let trailers = collector.takeTrailers()
        #expect(trailers == [HTTPHeader(name: "X-Sum", value: "1")])
        #expect(collector.lastStatus == 200)
        #expect(collector.isComplete)
        collector.lastStatus = 0
        #expect(!collector.isComplete)
    }

    @Test func onlyAFinalHeadIsComplete() {
        let start = "HTTP/1.1 200 OK\r\n"
        for lines in [[], ["HTTP/1.1 103 Early Hints\r\n", "\r\n"], [start], [start, "A: 1\r\n"]] {
            #expect(!feed(lines).collector.isComplete)
        }
        #expect(feed([start, "\r\n"]).collector.isComplete)
    }

    @Test func secondResponseStartsWithEmptyHead() {
        let (events, collector) = feed([
            "HTTP/1.1 401 No\r\n", "A: 1\r\n", "\r\n", "HTTP/1.1 200 OK\r\n", "B: 2\r\n", "\r\n",
        ])
        guard case .head(let head) = events[5] else { return #expect(Bool(false)) }
        #expect(head.headers.map(\.name) == ["B"])
        #expect(collector.size == 17 + 6 + 2)
    }
}
