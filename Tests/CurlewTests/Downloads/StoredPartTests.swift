import CurlewCore
import Foundation
import Testing

@testable import Curlew

@Suite("Partial files of downloads")
struct StoredPartTests {
    static let url = URL(string: "https://example.com/disk.img") ?? URL(filePath: "/")
    static let validator = EntityValidator.entityTag("\"v1\"")
    static let old = ResumeData(
        url: url, validator: validator, bytesWritten: 40, expectedTotal: 100, file: "/tmp/old.part")
    static let file = URL(filePath: "/tmp/new.part")

    let described = DescribedDownload(URLRequest(url: url), sensitiveHeaders: [], continuing: nil, segments: 1)

    func head(_ headers: HTTPHeaders = ["ETag": "\"v1\""]) -> ResponseHead {
        ResponseHead(status: 200, headers: headers)
    }

    @Test("the rest of a partial file is added to it, and both are kept")
    func rest() {
        var part = StoredPart.kept(Self.old)
        let gone = part.begin(.rest(of: Self.old, at: 40), head(), total: 100, in: Self.file, of: described)
        #expect(gone == nil)
        #expect(part.resumable == nil, "nobody else may continue it meanwhile")
        #expect(part.growing?.data(with: 70).bytesWritten == 70)
        #expect(part.growing?.data(with: 70).file == "/tmp/old.part")
        let isKept = part.end(after: 70, isWanted: true)
        #expect(isKept)
        #expect(part.resumable?.bytesWritten == 70)
        #expect(part.growing == nil)
    }

    @Test("a new file replaces the partial file, which has to be removed")
    func wholeFile() {
        var part = StoredPart.kept(Self.old)
        let gone = part.begin(.wholeFile, head(), total: 100, in: Self.file, of: described)
        #expect(gone == Self.old)
        #expect(part.resumable == nil)
        #expect(part.growing?.data(with: 5).file == "/tmp/new.part")
    }

    @Test("a new file without a validator replaces the partial file and cannot be continued")
    func unknownVersion() {
        var part = StoredPart.kept(Self.old)
        let gone = part.begin(.wholeFile, head([:]), total: 100, in: Self.file, of: described)
        #expect(gone == Self.old)
        #expect(part.growing == nil)
        let isKept = part.end(after: 50, isWanted: true)
        #expect(!isKept)
        #expect(part.resumable == nil)
    }

    @Test("an error page does not change the partial file")
    func errorPage() {
        var part = StoredPart.kept(Self.old)
        let gone = part.begin(.errorPage, head(), total: 9, in: Self.file, of: described)
        #expect(gone == nil)
        #expect(part.resumable == Self.old)
    }

    @Test("the partial file of a segmented download counts the bytes of its segments")
    func segments() {
        let progress = SegmentProgress(SegmentPlan(validator: Self.validator, total: 100, probed: 10, count: 1))
        var part = StoredPart.none
        _ = part.begin(.segment(0, progress, of: nil), head(), total: 100, in: Self.file, of: described)
        _ = progress.wrote(7, inSegment: 0)
        let data = part.growing?.data(with: 0)
        #expect(data?.bytesWritten == 7)
        #expect(data?.segments?.first?.written == 7)
        let isKept = part.end(after: 0, isWanted: true)
        #expect(isKept)
        #expect(part.resumable?.bytesWritten == 7)
    }

    @Test("a partial file that is unwanted or empty is not kept", arguments: [(Int64(50), false), (0, true)])
    func unkept(_ received: Int64, _ isWanted: Bool) {
        var part = StoredPart.none
        _ = part.begin(.wholeFile, head(), total: 100, in: Self.file, of: described)
        let isKept = part.end(after: received, isWanted: isWanted)
        #expect(!isKept)
        #expect(part.resumable == nil)
    }

    @Test("discarding a partial file returns it for removal, unless an exchange writes to it")
    func discarding() {
        for part in [StoredPart.kept(Self.old), .unexamined(Self.old)] {
            var part = part
            let (first, second) = (part.discard(), part.discard())
            #expect(first == Self.old)
            #expect(second == nil)
        }
        var growing = StoredPart.kept(Self.old)
        _ = growing.begin(.rest(of: Self.old, at: 40), head(), total: 100, in: Self.file, of: described)
        let gone = growing.discard()
        #expect(gone == nil)
        #expect(growing.resumable == nil)
        let isKept = growing.end(after: 70, isWanted: true)
        #expect(!isKept)
    }

    @Test("the end of an exchange that does not write keeps the partial file", arguments: [true, false])
    func notGrowing(_ isWanted: Bool) {
        var part = StoredPart.kept(Self.old)
        let isKept = part.end(after: 70, isWanted: isWanted)
        #expect(!isKept)
        #expect(part.resumable == Self.old)
    }
}
