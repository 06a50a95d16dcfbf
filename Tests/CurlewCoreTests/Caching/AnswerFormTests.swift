import CurlewCore
import Foundation
import Testing

@Suite struct AnswerFormTests {
    static let ranges: [(String, Range<Int64>?)] = [
        ("bytes=0-", 0..<10), ("bytes=2-4", 2..<5), ("bytes=2-99", 2..<10), ("bytes=-3", 7..<10), ("bytes=-30", 0..<10),
        ("BYTES= 9-9 ", 9..<10), ("bytes=10-", nil), ("bytes=-0", nil), ("bytes=4-2", nil), ("bytes=1-2,4-5", nil),
        ("bytes=", nil), ("bytes=-", nil), ("lines=1-2", nil), ("bytes 1-2", nil), ("bytes=a-b", nil),
        ("bytes=99999999999999999999-", nil), ("bytes=1-99999999999999999999", nil),
        ("bytes=0-9223372036854775807", nil),
    ]

    @Test(arguments: ranges) func rangeHeaderDecidesPart(_ value: String, is range: Range<Int64>?) {
        let form = AnswerForm(of: cacheRequest([("Range", value)]), from: stored([]), bodySize: 10)
        #expect(form == range.map { .part($0) })
    }

    @Test func partsAreOfWholeUncodedResponsesOfTheSameVersion() {
        func form(_ request: [(String, String)], _ response: [(String, String)], status: Int = 200) -> AnswerForm? {
            AnswerForm(
                of: cacheRequest([("Range", "bytes=0-1")] + request), from: stored(response, status: status),
                bodySize: 10)
        }
        #expect(form([], [("Content-Encoding", "gzip")]) == nil)
        #expect(form([], [], status: 404) == nil)
        #expect(form([("If-Range", "\"a\"")], [("ETag", "\"a\"")]) == .part(0..<2))
        #expect(form([("If-Range", "\"b\"")], [("ETag", "\"a\"")]) == nil)
        #expect(form([("If-Range", "W/\"a\"")], [("ETag", "W/\"a\"")]) == nil)
    }

    static let conditions: [(request: [(String, String)], isUnchanged: Bool)] = [
        ([("If-None-Match", "\"a\"")], true), ([("If-None-Match", "W/\"a\"")], true),
        ([("If-None-Match", "\"x\", \"a\"")], true), ([("If-None-Match", "\"x\""), ("If-None-Match", "\"a\"")], true),
        ([("If-None-Match", "*")], true), ([("If-None-Match", "\"x,\\\", \"a\"")], true),
        ([("If-None-Match", "\"b\"")], false), ([("If-None-Match", "a")], false), ([("If-None-Match", "")], false),
        ([("If-None-Match", "\"b\""), ("If-Modified-Since", dateField(0))], false),
        ([("If-Modified-Since", dateField(-100))], true), ([("If-Modified-Since", dateField(-99))], true),
        ([("If-Modified-Since", dateField(-101))], false), ([("If-Modified-Since", "x")], false),
    ]

    @Test(arguments: conditions.indices) func conditionDecidesWholeOrNotModified(at index: Int) {
        let response = stored([("ETag", "\"a\""), ("Last-Modified", dateField(-100))])
        let form = AnswerForm(of: cacheRequest(Self.conditions[index].request), from: response, bodySize: 10)
        #expect(form == (Self.conditions[index].isUnchanged ? .notModified : .whole))
    }

    @Test func headDescribesTheServedForm() {
        let response = stored([("Content-Length", "10"), ("Age", "3"), ("ETag", "\"a\""), ("Content-Type", "a/b")])
        func head(_ form: AnswerForm, age: TimeInterval = 5.9) -> ResponseHead {
            form.head(of: response, age: age, bodySize: 10)
        }
        #expect(head(.whole).headers["Age"] == "5" && head(.whole, age: 1e20).headers["Age"] == "2147483648")
        #expect(head(.part(2..<4)).status == 206)
        #expect(head(.part(2..<4)).headers["Content-Range"] == "bytes 2-3/10")
        #expect(head(.part(2..<4)).headers["Content-Length"] == "2")
        #expect(head(.notModified).status == 304)
        #expect(head(.notModified).headers.map(\.name) == ["Age", "ETag"])
        #expect(AnswerForm.whole.bytes(ofBody: 0) == nil && AnswerForm.whole.bytes(ofBody: 3) == 0..<3)
        #expect(AnswerForm.head.bytes(ofBody: 3) == nil && AnswerForm.part(1..<2).bytes(ofBody: 3) == 1..<2)
    }
}
