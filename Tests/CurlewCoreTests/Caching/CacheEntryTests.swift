import CurlewCore
import CurlewTesting
import Foundation
import Testing

/// The format in which stores outside the process keep entries.
@Suite struct CacheEntryEncodingTests {
    private static let entry = CacheEntry(
        id: "00112233445566778899aabbccddeeff",
        key: CacheKey(url: "https://example.org/ä?q=1", partition: "ab12"),
        variant: "cd34",
        varyingFields: ["accept", "accept-language"],
        response: StoredResponse(
            head: ResponseHead(
                status: 200,
                reason: "OK",
                version: .http2,
                headers: HTTPHeaders(received: [
                    HTTPHeader(name: "ETag", value: "\"a\""), HTTPHeader(name: "Link", value: "1"),
                    HTTPHeader(name: "Link", value: ""),
                ])
            ),
            requestTime: Date(timeIntervalSince1970: 1_800_000_000.125),
            responseTime: Date(timeIntervalSince1970: 1_800_000_001),
            isContentDecoded: false
        ),
        lifetime: CacheLifetime(
            freshUntil: Date(timeIntervalSince1970: -5),
            usableUntil: Date(timeIntervalSince1970: 1_800_000_100),
            canBeValidated: true
        )
    )

    @Test func encodedEntryIsDecodedUnchanged() {
        #expect(CacheEntry(encoded: Self.entry.encoded) == Self.entry)
    }

    @Test func flagsAreEncodedSeparately() {
        var other = Self.entry
        other.response.isContentDecoded = true
        other.lifetime.canBeValidated = false
        #expect(CacheEntry(encoded: other.encoded) == other)
    }

    @Test func extremeDatesAreClamped() {
        var entry = Self.entry
        entry.lifetime = CacheLifetime(
            freshUntil: .distantPast, usableUntil: Date(timeIntervalSince1970: .infinity), canBeValidated: false)
        let decoded = CacheEntry(encoded: entry.encoded)
        #expect(decoded?.lifetime.usableUntil == Date(timeIntervalSince1970: 1e12))
    }

    @Test func aTextThatIsNotUTF8IsRefused() throws {
        var encoded = Self.entry.encoded
        let letter = try #require(encoded.firstRange(of: Data("ä".utf8)))
        encoded.replaceSubrange(letter, with: "ö".utf8)
        #expect(CacheEntry(encoded: encoded)?.key.url == "https://example.org/ö?q=1")
        encoded.replaceSubrange(letter, with: [0xC3, 0x41])
        #expect(CacheEntry(encoded: encoded) == nil)
    }

    @Test func everyTruncationIsRefused() {
        let encoded = Self.entry.encoded
        for length in 0..<encoded.count { #expect(CacheEntry(encoded: encoded.prefix(length)) == nil) }
        #expect(CacheEntry(encoded: encoded + [0]) == nil)
    }

    @Test func changedByteNeverTraps() {
        let encoded = Self.entry.encoded
        for index in encoded.indices {
            for value in [0, 1, 0x7F, 0x80, 0xFF] as [UInt8] {
                var damaged = encoded
                damaged[index] = value
                _ = CacheEntry(encoded: damaged)
            }
        }
    }

    @Test func entryOfLaterVersionIsNotRead() {
        var later = Self.entry.encoded
        later[later.startIndex] = 2
        #expect(CacheEntry(encoded: later) == nil)
    }

    /// Later versions must be able to read the entries that are on disks.
    @Test func encodedFormIsStable() {
        let entry = CacheEntry(
            id: "0f",
            key: CacheKey(url: "http://a/"),
            response: StoredResponse(
                head: ResponseHead(status: 200, headers: ["A": "b"]),
                requestTime: Date(timeIntervalSince1970: 0),
                responseTime: Date(timeIntervalSince1970: 0.001)
            ),
            lifetime: CacheLifetime(
                freshUntil: Date(timeIntervalSince1970: -0.001),
                usableUntil: Date(timeIntervalSince1970: 0.064),
                canBeValidated: false
            )
        )
        let text = entry.encoded.map { String($0, radix: 16) }.joined(separator: " ")
        #expect(
            text
                == "1 2 30 66 9 68 74 74 70 3a 2f 2f 61 2f 0 0 0 c8 1 0 8 48 54 54 50 2f 31 2e 31 1 1 41 1 62 0 2 1 1 80 1"
        )
    }

    @Test func aBodyInMemoryIsReadInParts() async throws {
        let body = DataCacheBody(Data("0123456789".utf8).dropFirst(2))
        #expect(body.size == 8)
        let reader = await body.reader(of: 1..<4)
        #expect(try await reader?.next() == Data("345".utf8))
        #expect(try await reader?.next() == nil)
        #expect(await body.reader(of: 0..<9) == nil)
        #expect(try await body.reader(of: 8..<8)?.next() == nil)
    }
}

/// Random entries. The seed is fixed, so every run tests equal ones.
@Suite("Properties of encoded entries") struct CacheEntryPropertyTests {
    private static let texts = [
        "", "a", "ä\u{301}", "max-age=60, stale-if-error=1", "\"tag\"", "\t x", "\u{FEFF}", "🐦",
        String(repeating: "long ", count: 60),
    ]

    private static func entry(_ numbers: inout SplitMix) -> CacheEntry {
        func text(_ numbers: inout SplitMix) -> String { texts.randomElement(using: &numbers) ?? "" }
        func date(_ numbers: inout SplitMix) -> Date {
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

    @Test("an entry is read back as it was written, and truncated or extended data is refused") func roundTrip() {
        var numbers = SplitMix(seed: 1)
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

    @Test("every changed bit of an entry changes its checksum") func changedBytes() {
        var numbers = SplitMix(seed: 1)
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

    @Test(
        "an entry with a line break or a NUL in a field or its reason phrase is refused",
        arguments: ["\r\nX: y", "\n", "\r", "\0"])
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

    @Test("an entry whose status does not have three digits is refused", arguments: [0, 99, 1000, 1 << 40])
    func statuses(_ status: Int) {
        var entry = Self.sample
        entry.response.head.status = status
        #expect(CacheEntry(encoded: entry.encoded) == nil)
    }
}

@Suite("Entries without credentials")
struct CacheEntryCredentialsTests {
    @Test("fields with secret names are removed, and the others keep their order") func fields() {
        let names = [
            "Content-Type", "Set-Cookie", "ETag", "Authorization", "Vary", "X-Api-Key", "Authentication-Info", "Date",
            "X-Session-Token", "WWW-Authenticate", "Access-Control-Allow-Credentials",
        ]
        let fields = names.map { HTTPHeader(name: $0, value: "v") }
        let entry = CacheEntry(
            id: "id",
            key: CacheKey(url: "http://a.test/"),
            response: StoredResponse(
                head: ResponseHead(status: 200, headers: HTTPHeaders(received: fields)),
                requestTime: .distantPast,
                responseTime: .distantPast
            ),
            lifetime: CacheLifetime(freshUntil: .distantPast, usableUntil: .distantPast, canBeValidated: false)
        )
        let kept = entry.withoutCredentials
        #expect(
            kept.response.head.headers.map(\.name) == [
                "Content-Type", "ETag", "Vary", "Date", "WWW-Authenticate", "Access-Control-Allow-Credentials",
            ])
        #expect(kept.withoutCredentials == kept)
    }
}
