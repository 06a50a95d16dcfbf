import CurlewCore
import Foundation
import Testing

@Suite struct RevalidationTests {
    @Test func newFieldsReplaceThoseOfTheSameName() {
        let old = stored([
            ("A", "1"), ("a", "2"), ("B", "3"), ("Age", "9"), ("Content-Type", "a/b"), ("ETag", "\"1\""),
        ])
        let head = ResponseHead(
            status: 304,
            headers: receivedFields([
                ("A", "4"), ("C", "5"), ("Content-Type", "c/d"), ("Content-Length", "0"), ("ETag", "\"2\""),
                ("Connection", "close"), ("Set-Cookie", "a=b"),
            ])
        )
        let later = cacheTestTime.addingTimeInterval(60)
        let new = Revalidation.updated(old, with: head, requestTime: later, responseTime: later, mode: .private)
        #expect(
            new.head.headers
                == receivedFields([("B", "3"), ("Content-Type", "a/b"), ("A", "4"), ("C", "5"), ("ETag", "\"2\"")]))
        #expect(new.head.status == 200 && new.requestTime == later && new.responseTime == later)
    }

    private static let tag = ("ETag", "\"a\"")
    private static let date = ("Last-Modified", "a")
    private static let length = ("Content-Length", "5")

    static let heads: [(old: [(String, String)], new: [(String, String)], isSame: Bool)] = [
        ([tag], [("ETag", "W/\"a\"")], true), ([tag], [("ETag", "\"b\"")], false),
        ([date], [date], true), ([date], [("Last-Modified", "b")], false),
        ([length], [length], true), ([length], [("Content-Length", "05")], true),
        ([length], [("Content-Length", "6")], false),
        ([("Content-Length", "x")], [("Content-Length", "x")], false),
        // The stored response may have more validators.
        ([tag, date, length], [tag], true), ([tag, length], [length], true),
        // An equal validator does not outweigh one that differs or is not stored.
        ([tag, length], [tag, ("Content-Length", "6")], false), ([tag, date], [tag, ("Last-Modified", "b")], false),
        ([date], [tag, date], false), ([tag], [tag, date], false), ([length], [tag, length], false),
        ([tag], [tag, length], false), ([], [length], false),
        // The new head has nothing that identifies the version.
        ([], [], false), ([tag], [], false), ([length], [("X", "6")], false),
    ]

    @Test(arguments: heads.indices) func validatorsDecideWhetherVersionIsSame(at index: Int) {
        let item = Self.heads[index]
        let head = ResponseHead(status: 200, headers: receivedFields(item.new))
        #expect(Revalidation.isSame(stored(item.old), as: head) == item.isSame)
    }

    @Test func equalContentLengthIsTheSameVersion() {
        let head = ResponseHead(status: 200, headers: ["Content-Length": "10"])
        #expect(Revalidation.isSame(stored([]), as: head, bodySize: 10))
        #expect(!Revalidation.isSame(stored([]), as: head, bodySize: 9))
        // A stored Content-Length takes precedence over the size of the body.
        #expect(!Revalidation.isSame(stored([("Content-Length", "9")]), as: head, bodySize: 10))
        #expect(!Revalidation.isSame(stored([("Content-Encoding", "gzip")]), as: head, bodySize: 10))
        let coded = ResponseHead(status: 200, headers: ["Content-Length": "10", "Content-Encoding": "gzip"])
        #expect(!Revalidation.isSame(stored([]), as: coded, bodySize: 10))
    }

    static let invalidations: [(method: HTTPMethod, status: Int, fields: [(String, String)], expected: Invalidation)] =
        [
            (.get, 200, [], .none), (.post, 500, [], .none), (.post, 404, [], .none),
            (.post, 200, [], .urls(["https://example.org/a"])), (.put, 303, [], .urls(["https://example.org/a"])),
            (HTTPMethod(rawValue: "M-SEARCH"), 204, [], .urls(["https://example.org/a"])),
            (
                .put, 201, [("Location", "b?c#d"), ("Content-Location", "https://EXAMPLE.org:443/e")],
                .urls(["https://example.org/a", "https://example.org/b?c", "https://example.org/e"])
            ),
            (.put, 201, [("Location", "https://example.com/b")], .urls(["https://example.org/a"])),
            (.put, 201, [("Location", "http://example.org/b")], .urls(["https://example.org/a"])),
            (.get, 200, [("Clear-Site-Data", "\"cookies\"")], .none),
            (.get, 200, [("Clear-Site-Data", "\"cookies\", \"cache\"")], .origin("https://example.org/")),
            (.get, 404, [("Clear-Site-Data", "\"*\"")], .origin("https://example.org/")),
            (.get, 200, [("Clear-Site-Data", "cache")], .none),
        ]

    @Test(arguments: invalidations.indices) func methodAndResponseDecideInvalidation(at index: Int) {
        let item = Self.invalidations[index]
        let head = ResponseHead(status: item.status, headers: receivedFields(item.fields))
        let url = URL(string: "https://example.org/a")!
        #expect(Invalidation(method: item.method, url: url, head: head) == item.expected)
    }

    @Test func clearSiteDataNeedsSecureOrigin() {
        let head = ResponseHead(status: 200, headers: ["Clear-Site-Data": "\"cache\""])
        #expect(Invalidation(method: .get, url: URL(string: "http://example.org/")!, head: head) == .none)
    }

    static let statuses: [(CacheStatus, String)] = [
        (.hit, "Curlew; hit"), (.miss, "Curlew; fwd=miss"), (.collapsed, "Curlew; fwd=miss; collapsed"),
        (.revalidated, "Curlew; fwd=stale; fwd-status=304"), (.stale(.ifError), "Curlew; hit; detail=stale-if-error"),
        (.stale(.whileRevalidate), "Curlew; hit; detail=stale-while-revalidate"),
        (.bypassed(.method), "Curlew; fwd=method"), (.bypassed(.reload), "Curlew; fwd=request; detail=reload"),
    ]

    @Test(arguments: statuses) func cacheStatusIsDescribedAsText(_ status: CacheStatus, is text: String) {
        #expect(status.description == text)
    }
}
