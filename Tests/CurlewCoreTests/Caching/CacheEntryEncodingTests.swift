import CurlewCore
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

    @Test func anEntryComesBackAsItWas() {
        #expect(CacheEntry(encoded: Self.entry.encoded) == Self.entry)
    }

    @Test func flagsAreKeptApart() {
        var other = Self.entry
        other.response.isContentDecoded = true
        other.lifetime.canBeValidated = false
        #expect(CacheEntry(encoded: other.encoded) == other)
    }

    @Test func datesThatNoClockShowsAreBroughtWithin() {
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

    @Test func everyChangedByteIsReadOrRefusedWithoutATrap() {
        let encoded = Self.entry.encoded
        for index in encoded.indices {
            for value in [0, 1, 0x7F, 0x80, 0xFF] as [UInt8] {
                var damaged = encoded
                damaged[index] = value
                _ = CacheEntry(encoded: damaged)
            }
        }
    }

    @Test func aLaterVersionIsNotRead() {
        var later = Self.entry.encoded
        later[later.startIndex] = 2
        #expect(CacheEntry(encoded: later) == nil)
    }

    /// Later versions must be able to read the entries that are on disks.
    @Test func theFormIsStable() {
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
