import CurlewCore
import Foundation
import Testing

@Suite struct VariantsTests {
    static let same: [(name: String, one: [String], other: [String], isSame: Bool)] = [
        ("foo", ["1, 2"], ["1", "2"], true), ("foo", ["1,2"], [" 1 , 2 "], true), ("foo", ["1"], ["2"], false),
        ("foo", ["1, 2"], ["2, 1"], false), ("foo", ["A"], ["a"], false), ("foo", ["\"a, b\""], ["\"a,b\""], false),
        ("foo", ["\"a\\\", b\""], ["\"a\\\",b\""], false), ("foo", [], [""], false), ("foo", [""], [" "], true),
        // In a field of unknown syntax, an empty member may have a meaning.
        ("foo", [""], ["", ""], false), ("foo", ["1,,2"], ["1,2"], false), ("accept", ["a/b,,"], ["a/b"], true),
        ("accept-language", ["en, de"], ["DE,en"], true), ("accept-language", ["en;q=0.5"], ["en; q=0.5"], true),
        ("accept-language", ["en;q=0.5, de"], ["en, de;q=0.5"], false), ("accept", ["a/b", "c/d"], ["c/d, a/b"], true),
        ("accept-language", ["en, en;q=0"], ["en;q=0, en"], false),
        ("accept-encoding", ["GZIP ; q=1"], ["gzip;q=1"], true), ("accept-encoding", ["gzip, br"], ["br,gzip"], true),
        ("accept-encoding", ["gzip"], ["gzip, br"], false), ("accept-encoding", ["a b"], ["ab"], false),
        ("accept", ["A/b;c=D"], ["a/B; c=D"], true), ("accept", ["a/b;c=D"], ["a/b;c=d"], false),
        ("accept", ["a/b;c=\"d e\""], ["a/b;c=\"de\""], false), ("accept", ["a/b;c=\"D\""], ["a/b;c=\"d\""], false),
        ("accept", ["a/b;c=\"; d\""], ["a/b;c=\";d\""], false),
    ]

    @Test(arguments: same.indices) func equalFieldValuesAreTheSameVariant(at index: Int) {
        let item = Self.same[index]
        func name(_ values: [String]) -> String {
            Variants.name(of: receivedFields(values.map { (item.name, $0) }), varyingBy: [item.name]) { $0 }
        }
        #expect((name(item.one) == name(item.other)) == item.isSame)
    }

    @Test func varyFieldsAreListedOnceAndSorted() {
        #expect(Variants.fields(of: receivedFields([("Vary", "b, A"), ("vary", " a,, C")])) == ["a", "b", "c"])
        #expect(Variants.fields(of: [:]) == [])
        #expect(Variants.fields(of: receivedFields([("Vary", "a"), ("Vary", " *")])) == nil)
    }

    @Test(arguments: ["cookie authorization", "cookie;accept", "\"cookie\"", "a, b c", "a, cookie:", "(a)"])
    func malformedVaryNamesNoFields(value: String) {
        #expect(Variants.fields(of: receivedFields([("Vary", value)])) == nil)
        #expect(Variants.fields(of: receivedFields([("Vary", "a"), ("Vary", value)])) == nil)
    }

    @Test func latestMatchingVariantIsSelected() {
        let fields: [(String, String)] = [("Cache-Control", "max-age=9"), ("Vary", "Foo")]
        let one = storedEntry(stored(fields), for: cacheRequest([("Foo", "1")]), id: "one")
        var late = storedEntry(stored(fields), for: cacheRequest([("Foo", "1")]), id: "late")
        late.entry.response.responseTime = cacheTestTime.addingTimeInterval(1)
        let two = storedEntry(stored(fields), for: cacheRequest([("Foo", "2")]), id: "two")
        func selected(_ fields: [(String, String)]) -> String? {
            Variants.select([late, two, one], for: cacheRequest(fields)) { $0 }?.entry.id
        }
        #expect(selected([("Foo", "1")]) == "late")
        #expect(selected([("Foo", "2")]) == "two")
        #expect(selected([]) == nil)
    }

    @Test func entryOfAnotherKeyIsNoMatch() {
        let other = CacheRequest(url: URL(string: "https://example.org/b")!)
        let entry = storedEntry(stored([("Cache-Control", "max-age=9")]), for: other)
        #expect(Variants.select([entry], for: cacheRequest()) { $0 } == nil)
    }

    @Test func codedBodyIsNotServedIfDecodingIsWanted() {
        let coded = storedEntry(stored([("Content-Encoding", "gzip")], decoded: false))
        let plain = storedEntry(stored([], decoded: false))
        #expect(Variants.select([coded], for: cacheRequest()) { $0 } == nil)
        #expect(Variants.select([coded], for: cacheRequest(decodes: false)) { $0 } != nil)
        #expect(Variants.select([plain], for: cacheRequest()) { $0 } != nil)
    }

    static let keys: [(String, String)] = [
        ("http://example.org/a?b#c", "http://example.org/a?b"), ("HTTP://EXAMPLE.org", "http://example.org/"),
        ("https://example.org:443/A", "https://example.org/A"), ("http://example.org:443/", "http://example.org:443/"),
        ("http://example.org:80?q", "http://example.org/?q"), ("http://[::1]:8080/x", "http://[::1]:8080/x"),
        ("http://example.org:8080/x", "http://example.org:8080/x"),
        ("http://EXAMPLE.org:8080", "http://example.org:8080/"),
        ("http://example.org:80/x", "http://example.org/x"), ("https://example.org:80/x", "https://example.org:80/x"),
        ("http://example.org:080/x", "http://example.org/x"), ("https://example.org:0443/", "https://example.org/"),
        ("http://127.0.0.1:65535/x#y", "http://127.0.0.1:65535/x"), ("http://a:1/", "http://a:1/"),
        ("http://example.org/%7Ea", "http://example.org/%7Ea"), ("http://example.org/?", "http://example.org/?"),
        ("http://me@example.org/", "http://me@example.org/"),
        ("https://a/#", "https://a/"), ("http://a", "http://a/"), ("https://a?b", "https://a/?b"),
    ]

    @Test(arguments: keys) func cacheKeyIsNormalizedURL(of url: String, is text: String) throws {
        #expect(CacheKey(url: try #require(URL(string: url))).url == text)
    }

    @Test func keysAreEqualIfURLAndPartitionAre() {
        let key = CacheKey(url: "https://example.org/a", partition: "p")
        #expect(key == CacheKey(url: "https://example.org/" + "a", partition: "p"))
        #expect(key.hashValue == CacheKey(url: "https://example.org/" + "a", partition: "p").hashValue)
        #expect(
            key != CacheKey(url: "https://example.org/a")
                && key != CacheKey(url: "https://example.org/b", partition: "p"))
        #expect(CacheKey(url: "https://example.org/", partition: "") == CacheKey(url: "https://example.org/"))
    }

    static let origins: [(String, String)] = [
        ("https://example.org/a/b?c", "https://example.org/"), ("http://[::1]:8080/x", "http://[::1]:8080/"),
        ("http://ä.example?q", "http://ä.example/"), ("http://example.org", "http://example.org/"),
        ("no URL", "no URL"),
    ]

    @Test(arguments: origins) func cacheKeyHasOriginOfURL(of url: String, is origin: String) {
        #expect(CacheKey(url: url).origin == origin)
    }
}
