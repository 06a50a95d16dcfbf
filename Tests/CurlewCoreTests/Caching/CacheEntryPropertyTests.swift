import CurlewCore
import Foundation
import Testing

/// Random entries. The seed is fixed, so every run tests equal ones.
@Suite("Properties of encoded entries") struct CacheEntryPropertyTests {
    private struct Numbers: RandomNumberGenerator {
        var state: UInt64 = 1

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 29
        }
    }

    private static let texts = [
        "", "a", "ä\u{301}", "max-age=60, stale-if-error=1", "\"tag\"", "\t x", "\u{FEFF}", "🐦",
        String(repeating: "long ", count: 60),
    ]

    private static func entry(_ numbers: inout Numbers) -> CacheEntry {
        func text(_ numbers: inout Numbers) -> String { texts.randomElement(using: &numbers) ?? "" }
        func date(_ numbers: inout Numbers) -> Date {
            let milliseconds = Int64.random(in: -1_000_000_000_000_000...1_000_000_000_000_000, using: &numbers)
            return Date(timeIntervalSince1970: Double(milliseconds >> Int64.random(in: 0...40, using: &numbers)) / 1000)
        }
        let fields = (0..<Int.random(in: 0...5, using: &numbers)).map { _ in
            HTTPHeader(
                name: ["ETag", "Vary", "x", "Link"].randomElement(using: &numbers) ?? "x", value: text(&numbers))
        }
        return CacheEntry(
            id: text(&numbers),
            key: CacheKey(url: "https://example.org/" + text(&numbers), partition: text(&numbers)),
            variant: text(&numbers),
            varyingFields: (0..<Int.random(in: 0...3, using: &numbers)).map { _ in text(&numbers) },
            response: StoredResponse(
                head: ResponseHead(
                    status: .random(in: 100...999, using: &numbers),
                    reason: text(&numbers),
                    version: [.http1_0, .http1_1, .http2, .http3].randomElement(using: &numbers) ?? .http2,
                    headers: HTTPHeaders(received: fields)
                ),
                requestTime: date(&numbers),
                responseTime: date(&numbers),
                isContentDecoded: Bool.random(using: &numbers)
            ),
            lifetime: CacheLifetime(
                freshUntil: date(&numbers), usableUntil: date(&numbers), canBeValidated: Bool.random(using: &numbers))
        )
    }

    @Test("An entry comes back as it was; a part of it, or more than it, is a miss") func roundTrip() {
        var numbers = Numbers()
        for _ in 0..<300 {
            let entry = Self.entry(&numbers)
            let encoded = entry.encoded
            let read = CacheEntry(encoded: encoded)
            // Dates are stored in milliseconds, so only the dates of an entry that was read are exact.
            #expect(read?.encoded == encoded && read?.key == entry.key && read?.response.head == entry.response.head)
            #expect(read.flatMap { CacheEntry(encoded: $0.encoded) } == read)
            for length in 0..<encoded.count where CacheEntry(encoded: encoded.prefix(length)) != nil {
                Issue.record("\(length) of \(encoded.count) bytes were an entry: \(entry)")
            }
            #expect(CacheEntry(encoded: encoded + [0]) == nil)
        }
    }

    @Test("The checksum of stores tells every changed byte") func changedBytes() {
        var numbers = Numbers()
        for _ in 0..<20 {
            let encoded = Self.entry(&numbers).encoded
            let check = StoreChecksum.of(encoded)
            for index in encoded.indices {
                var damaged = encoded
                for bit in 0..<8 {
                    damaged[index] = encoded[index] ^ 1 << bit
                    if StoreChecksum.of(damaged) == check { Issue.record("bit \(bit) of byte \(index)") }
                }
            }
        }
    }

    private static let sample = CacheEntry(
        id: "1",
        key: CacheKey(url: "http://a/"),
        response: StoredResponse(
            head: ResponseHead(status: 200, headers: ["ETag": "\"a\""]),
            requestTime: cacheTestTime,
            responseTime: cacheTestTime
        ),
        lifetime: CacheLifetime(freshUntil: cacheTestTime, usableUntil: cacheTestTime, canBeValidated: true)
    )

    @Test("A field that would become two when it is sent is damage", arguments: ["\r\nX: y", "\n", "\r", "\0"])
    func lineEnds(_ end: String) {
        #expect(CacheEntry(encoded: Self.sample.encoded) == Self.sample)
        for field in [HTTPHeader(name: "ETag", value: "\"a\"" + end), HTTPHeader(name: "A" + end, value: "")] {
            var entry = Self.sample
            entry.response.head.headers = HTTPHeaders(received: [field])
            #expect(CacheEntry(encoded: entry.encoded) == nil)
        }
        var entry = Self.sample
        entry.response.head.reason = end
        #expect(CacheEntry(encoded: entry.encoded) == nil)
    }

    @Test("A status that no server can send is damage", arguments: [0, 99, 1000, 1 << 40])
    func statuses(_ status: Int) {
        var entry = Self.sample
        entry.response.head.status = status
        #expect(CacheEntry(encoded: entry.encoded) == nil)
    }
}
