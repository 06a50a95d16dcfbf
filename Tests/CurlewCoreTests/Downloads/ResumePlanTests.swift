import CurlewCore
import Testing

@Suite("Resume plan", .timeLimit(.minutes(4)))
struct ResumePlanTests {
    static let tag = "\"v1\""
    static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var offset: Int64 = 100
        var validator = EntityValidator.entityTag(tag)
        var total: Int64? = 1000
        var status: Int
        var headers: HTTPHeaders = [:]
        var decision: ResumePlan.Decision
        var testDescription: String { name }
    }

    static let cases: [Case] = [
        Case(
            name: "the rest is appended", status: 206, headers: ["Content-Range": "bytes 100-999/1000"],
            decision: .append(total: 1000)),
        Case(
            name: "with the same tag it is appended", status: 206,
            headers: ["Content-Range": "bytes 100-999/1000", "ETag": tag], decision: .append(total: 1000)),
        Case(
            name: "less than the rest is appended", status: 206, headers: ["Content-Range": "bytes 100-499/1000"],
            decision: .append(total: 1000)),
        Case(
            name: "a whole of unknown length is what was expected", status: 206,
            headers: ["Content-Range": "bytes 100-999/*"], decision: .append(total: 1000)),
        Case(
            name: "a whole of unknown length that was not known before", total: nil, status: 206,
            headers: ["Content-Range": "bytes 100-999/*"], decision: .startOver),
        Case(
            name: "more than the whole", status: 206, headers: ["Content-Range": "bytes 100-1000/*"],
            decision: .startOver),
        Case(
            name: "a whole that was not known is learned", total: nil, status: 206,
            headers: ["Content-Range": "bytes 100-999/1000"], decision: .append(total: 1000)),
        Case(
            name: "identity is no encoding", status: 206,
            headers: ["Content-Range": "bytes 100-999/1000", "Content-Encoding": "Identity"],
            decision: .append(total: 1000)),
        Case(
            name: "another tag: another file", status: 206,
            headers: ["Content-Range": "bytes 100-999/1000", "ETag": "\"v2\""], decision: .startOver),
        Case(
            name: "the tag has become weak", status: 206,
            headers: ["Content-Range": "bytes 100-999/1000", "ETag": "W/\"v1\""], decision: .startOver),
        Case(
            name: "another date: another file", validator: .lastModified(date), status: 206,
            headers: ["Content-Range": "bytes 100-999/1000", "Last-Modified": "Sun, 06 Nov 1994 08:49:38 GMT"],
            decision: .startOver),
        Case(
            name: "the same date", validator: .lastModified(date), status: 206,
            headers: ["Content-Range": "bytes 100-999/1000", "Last-Modified": date], decision: .append(total: 1000)),
        Case(
            name: "another length: another file", status: 206, headers: ["Content-Range": "bytes 100-998/999"],
            decision: .startOver),
        Case(
            name: "a gap", status: 206, headers: ["Content-Range": "bytes 101-999/1000"], decision: .startOver),
        Case(
            name: "an overlap", status: 206, headers: ["Content-Range": "bytes 0-999/1000"], decision: .startOver),
        Case(name: "a part without its place", status: 206, decision: .startOver),
        Case(
            name: "a place that contradicts itself", status: 206, headers: ["Content-Range": "bytes 100-1000/1000"],
            decision: .startOver),
        Case(
            name: "two places", status: 206,
            headers: HTTPHeaders(received: [
                HTTPHeader(name: "Content-Range", value: "bytes 100-999/1000"),
                HTTPHeader(name: "Content-Range", value: "bytes 200-999/1000"),
            ]), decision: .startOver),
        Case(
            name: "several parts in one body", status: 206,
            headers: ["Content-Type": "multipart/byteranges; boundary=x"], decision: .startOver),
        Case(
            name: "an encoded part", status: 206,
            headers: ["Content-Range": "bytes 100-999/1000", "Content-Encoding": "gzip"], decision: .startOver),
        Case(name: "the whole instead", status: 200, headers: ["ETag": "\"v2\""], decision: .wholeFile),
        Case(name: "the same whole instead", status: 200, headers: ["ETag": tag], decision: .wholeFile),
        Case(
            name: "the whole, encoded though it was not to be", status: 200, headers: ["Content-Encoding": "br"],
            decision: .startOver),
        Case(
            name: "nothing is missing", offset: 1000, status: 416, headers: ["Content-Range": "bytes */1000"],
            decision: .alreadyComplete),
        Case(
            name: "nothing is missing of a length that was not known", offset: 1000, total: nil, status: 416,
            headers: ["Content-Range": "bytes */1000"], decision: .alreadyComplete),
        Case(
            name: "beyond the end of a file that was cut", status: 416, headers: ["Content-Range": "bytes */50"],
            decision: .startOver),
        Case(
            name: "beyond the end of what has grown to that length", offset: 1000, total: 2000, status: 416,
            headers: ["Content-Range": "bytes */1000"], decision: .startOver),
        Case(
            name: "a refused range without a reason", offset: 1000, status: 416, decision: .startOver),
        Case(
            name: "as long, but another file", offset: 1000, status: 416,
            headers: ["Content-Range": "bytes */1000", "ETag": "\"v2\""], decision: .startOver),
        Case(
            name: "an empty beginning is never complete", offset: 0, total: 0, status: 416,
            headers: ["Content-Range": "bytes */0"], decision: .startOver),
        Case(name: "not found", status: 404, decision: .errorPage),
        Case(name: "unavailable", status: 503, decision: .errorPage),
        Case(name: "unauthorized", status: 401, decision: .errorPage),
        Case(name: "no content", status: 204, decision: .errorPage),
    ]

    @Test("a response is appended only if it continues the same version of the file", arguments: cases)
    func decide(_ testCase: Case) {
        let plan = ResumePlan(
            offset: testCase.offset, validator: testCase.validator, expectedTotal: testCase.total)
        let head = ResponseHead(status: testCase.status, headers: testCase.headers)
        #expect(plan.decision(for: head) == testCase.decision)
    }

    @Test("a resumed request asks for the rest of the same version, unencoded")
    func headers() {
        let plan = ResumePlan(offset: 100, validator: .entityTag(Self.tag), expectedTotal: nil)
        #expect(
            plan.headers == [
                HTTPHeader(name: "Range", value: "bytes=100-"), HTTPHeader(name: "If-Range", value: Self.tag),
                HTTPHeader(name: "Accept-Encoding", value: "identity"),
            ])
    }

    @Test(
        "a response can be resumed only with a strong validator and without a content coding",
        arguments: [
            (["ETag": tag], EntityValidator.entityTag(tag) as EntityValidator?),
            (["ETag": "\"\""], .entityTag("\"\"")),
            (["ETag": "W/\"v1\""], nil), (["ETag": "v1"], nil), (["ETag": "\"a\"b\""], nil), (["ETag": "\""], nil),
            (["ETag": "W/\"v1\"", "Last-Modified": date], nil),
            (["ETag": tag, "Last-Modified": date], .entityTag(tag)),
            (["Last-Modified": date], .lastModified(date)),
            (["Last-Modified": date, "Date": "Sun, 06 Nov 1994 08:49:38 GMT"], .lastModified(date)),
            (["Last-Modified": date, "Date": date], nil),
            (["Last-Modified": date, "Date": "Sun, 06 Nov 1994 08:49:30 GMT"], nil),
            (["Last-Modified": "yesterday"], nil), (["ETag": tag, "Content-Encoding": "gzip"], nil),
            (["ETag": tag, "Content-Encoding": "identity, gzip"], nil),
            (["ETag": tag, "Content-Encoding": "identity"], .entityTag(tag)),
            (["ETag": tag, "Content-Encoding": ""], .entityTag(tag)),
            (["ETag": tag, "Accept-Ranges": "none"], nil), (["ETag": tag, "Accept-Ranges": "bytes"], .entityTag(tag)),
            ([:], nil),
        ] as [([String: String], EntityValidator?)])
    func validators(_ headers: [String: String], _ expected: EntityValidator?) {
        let head = ResponseHead(status: 200, headers: HTTPHeaders(headers))
        #expect(ResumePlan.validator(of: head, method: .get, hasBody: false) == expected)
    }

    @Test("only a successful GET without a request body can be resumed")
    func otherRequests() {
        var head = ResponseHead(status: 200, headers: ["ETag": Self.tag])
        #expect(ResumePlan.validator(of: head, method: .post, hasBody: false) == nil)
        #expect(ResumePlan.validator(of: head, method: .get, hasBody: true) == nil)
        head.status = 404
        #expect(ResumePlan.validator(of: head, method: .get, hasBody: false) == nil)
    }
}
