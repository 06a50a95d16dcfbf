import Curlew
import CurlewTesting
import Foundation
import Testing

@testable import CurlewTool

@Suite("The beginning of a file that another program has fetched")
struct UnfinishedFileTests {
    private static let end = Data("0123456789".utf8)

    private func head(_ status: Int, _ headers: [String: String]) -> ResponseHead {
        ResponseHead(status: status, headers: HTTPHeaders(headers))
    }

    private func refusal(_ head: ResponseHead, body: Data = end) -> String? {
        let file = UnfinishedFile(path: "f", size: 10)
        do throws(UsageError) {
            _ = try file.match(head, body: body, end: Self.end)
            return nil
        } catch {
            return error.message
        }
    }

    @Test(arguments: [(1, 0...0), (65_536, 0...65_535), (65_537, 1...65_536), (1_000_000, 934_464...999_999)])
    func comparesItsEnd(_ size: Int64, _ compared: ClosedRange<Int64>) {
        #expect(UnfinishedFile(path: "f", size: size).compared == compared)
    }

    @Test func readsItsEnd() throws {
        let scratch = try ScratchDirectory()
        let bytes = TestServer.patternBytes(count: 100_000)
        let path = try scratch.write("f", bytes).path
        #expect(try UnfinishedFile(at: path)?.end() == bytes.suffix(65_536))
        #expect(UnfinishedFile(at: try scratch.write("empty", "").path) == nil)
        #expect(UnfinishedFile(at: path + "-not") == nil)
        #expect(UnfinishedFile(at: scratch.path) == nil)
    }

    @Test(arguments: [("bytes 0-9/10", Int64(10)), ("bytes 0-9/25", 25), ("bytes 0-9/*", nil)])
    func matches(_ range: String, _ total: Int64?) throws {
        let file = UnfinishedFile(path: "f", size: 10)
        let tagged = try file.match(
            head(206, ["Content-Range": range, "ETag": "\"v\""]), body: Self.end, end: Self.end)
        #expect(tagged == UnfinishedFile.Match(validator: .entityTag("\"v\""), total: total))
        let date = "Tue, 15 Nov 1994 12:45:26 GMT"
        let dated = try file.match(
            head(206, ["Content-Range": range, "Last-Modified": date]), body: Self.end, end: Self.end)
        #expect(dated.validator == .lastModified(date))
    }

    @Test func refusesWhatMayNotBePutTogether() {
        let range = "bytes 0-9/25"
        let tag = "\"v\""
        #expect(refusal(head(206, ["Content-Range": range, "ETag": tag])) == nil)
        #expect(refusal(head(200, ["ETag": tag]))?.contains("the whole file or nothing") == true)
        #expect(refusal(head(416, [:]))?.contains("longer than the file") == true)
        #expect(refusal(head(206, ["Content-Range": "bytes 0-7/8", "ETag": tag]))?.contains("longer than") == true)
        #expect(refusal(head(206, ["Content-Range": "bytes 3-9/25", "ETag": tag]))?.contains("another part") == true)
        #expect(refusal(head(206, ["ETag": tag]))?.contains("another part") == true)
        #expect(refusal(head(206, ["Content-Range": range]))?.contains("which version") == true)
        #expect(refusal(head(206, ["Content-Range": range, "ETag": "W/\"v\""]))?.contains("which version") == true)
        let encoded = ["Content-Range": range, "ETag": tag, "Content-Encoding": "gzip"]
        #expect(refusal(head(206, encoded))?.contains("encoded (gzip)") == true)
        #expect(refusal(head(206, ["Content-Range": range, "ETag": tag]), body: Data())?.contains("differ") == true)
    }
}
