import CurlewCore
import Foundation
import Testing

@testable import Curlew

@Suite("Roles of the bodies of downloads")
struct RequestedRangeTests {
    static let url = URL(string: "https://example.com/disk.img") ?? URL(filePath: "/")
    static let part = ResumeData(
        url: url, validator: .entityTag("\"v1\""), bytesWritten: 40, expectedTotal: nil, file: "/tmp/a.part")
    static let segments = [FileSegment(0..<50, written: 50), FileSegment(50..<100, written: 10)]
    static let divided = ResumeData(
        url: url, validator: .entityTag("\"v1\""), bytesWritten: 60, expectedTotal: 100, file: "/tmp/a.part",
        segments: segments)

    private func head(_ status: Int, _ contentRange: String? = nil) -> ResponseHead {
        var headers: HTTPHeaders = ["ETag": "\"v1\"", "Content-Length": "60"]
        if let contentRange { headers["Content-Range"] = contentRange }
        return ResponseHead(status: status, headers: headers)
    }

    private func span(_ role: BodyRole, _ head: ResponseHead, hasBody: Bool = true) -> [Int64?] {
        let span = ResponseFile.Span(of: role, head, hasBody: hasBody)
        return [span.position, span.end, span.fileLength]
    }

    @Test("the rest of a file continues the part, whose total length the response states")
    func rest() throws {
        // The length is unknown, so the part may be complete, and its last byte is requested again.
        let head = head(206, "bytes 39-99/100")
        let role = try #require(RequestedRange(continuing: Self.part).role(of: head, dividingInto: 1))
        guard case .rest(let part, at: 39) = role else {
            Issue.record("\(role)")
            return
        }
        #expect(part.expectedTotal == 100 && part.bytesWritten == 40)
        #expect(span(role, head) == [39, 100, 100])
    }

    @Test("a complete part needs no body")
    func complete() throws {
        let head = head(416, "bytes */40")
        let role = try #require(RequestedRange(continuing: Self.part).role(of: head, dividingInto: 1))
        guard case .alreadyComplete(let part) = role else {
            Issue.record("\(role)")
            return
        }
        #expect(part.expectedTotal == 40)
        #expect(span(role, head) == [40, nil, 40])
    }

    @Test("an error page leaves the part alone, and a useless response starts the download over")
    func others() throws {
        for range in [RequestedRange(continuing: Self.part), RequestedRange(continuing: Self.divided), .probe] {
            let page = try #require(range.role(of: head(503), dividingInto: 2))
            guard case .errorPage = page else {
                Issue.record("\(page)")
                return
            }
            #expect(span(page, head(503)) == [0, nil, 60])
            #expect(range.role(of: head(206, "bytes 1-9/10"), dividingInto: 2) == nil)
        }
    }

    @Test("a file whose beginning was requested is divided into segments")
    func probe() throws {
        let mebibyte: Int64 = 1 << 20
        let head = head(206, "bytes 0-\(mebibyte - 1)/\(5 * mebibyte)")
        let role = try #require(RequestedRange.probe.role(of: head, dividingInto: 2))
        guard case .segment(0, let progress, of: nil) = role else {
            Issue.record("\(role)")
            return
        }
        #expect(progress.current.segments.map(\.end) == [mebibyte, 3 * mebibyte, 5 * mebibyte])
        #expect(span(role, head) == [0, mebibyte, 5 * mebibyte])
    }

    @Test("a segment continues at its position, and its file has the progress of all segments")
    func segment() throws {
        let head = head(206, "bytes 60-99/100")
        let role = try #require(RequestedRange(continuing: Self.divided).role(of: head, dividingInto: 1))
        guard case .segment(1, let progress, of: .some) = role else {
            Issue.record("\(role)")
            return
        }
        #expect(progress.count == TransferCount(completed: 60, total: 100))
        #expect(span(role, head) == [60, 100, 100])
    }

    @Test("a whole file that the user asked for by range ends where its range ends, unless there is no body")
    func wholeFile() throws {
        let part = head(206, "bytes 10-19/100")
        let role = try #require(RequestedRange.wholeFile.role(of: part, dividingInto: 1))
        guard case .wholeFile = role else {
            Issue.record("\(role)")
            return
        }
        #expect(span(role, part) == [0, 10, 60])
        #expect(span(role, part, hasBody: false) == [0, nil, 60])
    }
}
