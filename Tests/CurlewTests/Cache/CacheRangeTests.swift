import Curlew
import CurlewCore
import CurlewTesting
import Foundation
import Testing

/// Requests for parts of a response that is stored as a whole.
@Suite struct CacheRangeTests {
    static let text = "0123456789"

    /// A server that supports ranges too, and whose body names the range that it was asked for.
    private func server(_ fields: HTTPHeaders = ["ETag": "\"e\""]) -> CacheServer {
        CacheServer { request in
            guard let range = request.headers["Range"] else { return cacheable(Self.text, "max-age=60", fields) }
            return .text("from the server for " + range, status: range.contains("99") ? 416 : 206)
        }
    }

    static let parts: [(range: String, text: String, field: String)] = [
        ("bytes=2-4", "234", "bytes 2-4/10"), ("bytes=7-", "789", "bytes 7-9/10"), ("bytes=-3", "789", "bytes 7-9/10"),
        ("bytes=-30", "0123456789", "bytes 0-9/10"), ("bytes=8-50", "89", "bytes 8-9/10"),
        ("bytes=0-0", "0", "bytes 0-0/10"),
    ]

    @Test(arguments: parts.indices) func singleRangeIsServedFromStoredResponse(at index: Int) async {
        let (range, text, field) = Self.parts[index]
        let server = server()
        _ = await server.get()
        let part = await server.get("a", ["Range": range])
        #expect(part.text == text && part.head?.status == 206 && part.cacheStatus == .hit)
        #expect(part.head?.headers["Content-Range"] == field)
        #expect(part.head?.headers["Content-Length"] == String(text.utf8.count))
        #expect(server.sent == 1)
    }

    // Ranges beyond the end, several ranges and other units are left to the server.
    @Test(arguments: [("bytes=99-", 416), ("bytes=0-1,4-5", 206), ("lines=1-2", 206)])
    func otherRangesAreLeftToTheServer(range: String, status: Int) async {
        let server = server()
        _ = await server.get()
        let response = await server.get("a", ["Range": range])
        #expect(response.head?.status == status && response.text == "from the server for " + range)
        #expect(response.cacheStatus == .bypassed(.condition))
        // The stored response stays.
        #expect(await server.get().cacheStatus == .hit)
    }

    static let (now, date) = ("Fri, 15 Jan 2027 08:00:00 GMT", "Thu, 14 Jan 2027 08:00:00 GMT")
    static let conditions: [(fields: HTTPHeaders, condition: String, isServed: Bool)] = [
        (["ETag": "\"e\""], "\"e\"", true), (["ETag": "\"e\""], "\"f\"", false),
        (["ETag": "W/\"e\""], "W/\"e\"", false), ([:], "\"e\"", false),
        (["Last-Modified": date, "Date": now], date, true),
        // Modified in the second of its date: the resource may have changed again since (RFC 9110, 8.8.2.2).
        (["Last-Modified": now, "Date": now], now, false),
    ]

    @Test(arguments: conditions.indices) func ifRangeNeedsAStrongValidator(at index: Int) async {
        let (fields, condition, isServed) = Self.conditions[index]
        let server = server(fields)
        _ = await server.get()
        let response = await server.get("a", ["Range": "bytes=2-4", "If-Range": condition])
        #expect((response.text == "234") == isServed)
        #expect(server.sent == (isServed ? 1 : 2))
    }

    @Test func partialResponseIsNotStoredAndRemovesNothing() async {
        let server = server()
        #expect(await server.get("a", ["Range": "bytes=0-1"]).head?.status == 206)
        #expect(await server.get().text == Self.text)
        server.advance(by: 61)
        #expect(await server.get("a", ["Range": "bytes=0-1"]).cacheStatus == .bypassed(.condition))
        #expect(await server.get(policy: .preferStored).text == Self.text)
    }
}
