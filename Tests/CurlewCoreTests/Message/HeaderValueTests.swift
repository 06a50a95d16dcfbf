internal import CurlewCore
internal import Foundation
internal import Testing

@Suite("Values of header fields", .timeLimit(.minutes(4)))
struct HeaderValueTests {
    @Test("statuses have a reason phrase, and tell whether they are redirects or have no body")
    func status() {
        #expect(HTTPStatus(404).reasonPhrase == "Not Found" && HTTPStatus(499).reasonPhrase.isEmpty)
        let codes = [99, 100, 103, 199, 200, 204, 206, 301, 304, 404, 599, 600]
        #expect(codes.filter { HTTPStatus($0).hasNoBody } == [100, 103, 199, 204, 304])
        #expect(HTTPStatus(301).isRedirect && !HTTPStatus(300).isRedirect)
        #expect("\(HTTPVersion.http2)" == "HTTP/2")
    }

    static let dates: [(Double, String)] = [
        (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
        (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"), (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
        (4_107_542_399.9, "Sun, 28 Feb 2100 23:59:59 GMT"), (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
        (-11_644_473_600, "Mon, 01 Jan 1601 00:00:00 GMT"), (-62_135_596_800, "Mon, 01 Jan 0001 00:00:00 GMT"),
    ]

    @Test("dates are written as IMF-fixdate, and read back", arguments: dates)
    func dateFormat(seconds: Double, text: String) {
        let date = Date(timeIntervalSince1970: seconds)
        #expect(HTTPDate.string(from: date) == text)
        #expect(HTTPDate.date(from: text, now: date)?.timeIntervalSince1970 == seconds.rounded(.down))
    }

    @Test("dates of five centuries are read back as they were written")
    func everyDay() {
        for day in stride(from: -100_000, through: 100_000, by: 97) {
            let date = Date(timeIntervalSince1970: Double(day) * 86_400 + 3661)
            #expect(HTTPDate.date(from: HTTPDate.string(from: date), now: date) == date)
        }
        #expect(!HTTPDate.string(from: .distantFuture).isEmpty && !HTTPDate.string(from: .distantPast).isEmpty)
        #expect(!HTTPDate.string(from: Date(timeIntervalSince1970: .infinity)).isEmpty)
    }

    @Test(
        "a year of two digits is at most fifty years in the future",
        arguments: [(2026, "76", 2076), (2026, "77", 1977), (2080, "10", 2110), (2000, "99", 1999)])
    func shortYears(now: Int, year: String, expected: Int) throws {
        let today = try #require(HTTPDate.date(from: "Mon, 01 Jan \(now) 00:00:00 GMT", now: .distantPast))
        let date = try #require(HTTPDate.date(from: "Sunday, 06-Nov-\(year) 08:49:37 GMT", now: today))
        #expect(HTTPDate.string(from: date).contains(" \(expected) "))
    }

    @Test(
        "an invalid date is not read",
        arguments: [
            "", "Sun", "Sun, ", "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 29 Feb 1900 08:49:37 GMT",
            "Sunny, 06-Nov-94 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 GMT x", "Sun Nov 31 08:49:37 1994", "0", "-1",
        ])
    func noDate(text: String) { #expect(HTTPDate.date(from: text, now: .distantPast) == nil) }

    @Test("the Range field is written, and Content-Range is read")
    func ranges() {
        #expect(
            [ByteRange.from(5), .bytes(0...9), .last(3)].map(\.description) == ["bytes=5-", "bytes=0-9", "bytes=-3"])
        #expect(ContentRange("bytes 0-4/5")?.located?.length == 5)
        let open = ContentRange("bytes 2-4/*")
        #expect(open?.range == 2...4 && open?.length == nil && open?.located == nil)
        let unsatisfied = ContentRange("bytes */50")
        #expect(unsatisfied?.range == nil && unsatisfied?.length == 50)
        for text in [
            "", "bytes", "bytes */*", "items 0-1/2", "bytes 0-1", "bytes 0-/2", "bytes 99999999999999999999-1/2",
            "bytes 0-9223372036854775807/*", "bytes 0-1/2x", "bytes */x",
        ] {
            #expect(ContentRange(text) == nil, "\(text)")
        }
    }

    @Test("Retry-After is limited to its maximum, and a past date gives no delay")
    func retryAfter() throws {
        let now = Date(timeIntervalSince1970: 784_111_777)
        #expect(RetryAfter.delay("99999999999999999999", now: now, maximum: .seconds(9)) == .seconds(9))
        #expect(RetryAfter.delay(" 7 ", now: now) == .seconds(7))
        #expect(RetryAfter.delay("Sun, 06 Nov 1994 08:49:38 GMT", now: now) == .seconds(1))
        #expect(RetryAfter.delay("Sun, 06 Nov 1994 08:49:36 GMT", now: now) == nil)
        #expect(RetryAfter.delay("Sun, 06 Nov 9994 08:49:36 GMT", now: now) == .seconds(86_400))
        #expect(RetryAfter.delay("soon", now: now) == nil)
    }

    @Test("Cache-Control directives are read, and a malformed argument is read as empty")
    func cacheControl() {
        let control = CacheControl(" No-Cache=\"set-cookie, x\" , max-age = 60;x, private,max-age=1,,=3")
        #expect(control.directives == ["no-cache": "set-cookie, x", "max-age": "", "x": "", "private": ""])
        #expect(control.maxAge == nil && CacheControl("max-age=\"5\"").maxAge == 5)
    }

    static let addressTable: [(String, [UInt8]?)] = [
        ("127.0.0.1", [127, 0, 0, 1]), ("::", Array(repeating: 0, count: 16)),
        ("::1", Array(repeating: 0, count: 15) + [1]),
        ("fe80::1%eth0", [0xFE, 0x80] + Array(repeating: 0, count: 13) + [1]),
        ("::ffff:1.2.3.4", Array(repeating: 0, count: 10) + [255, 255, 1, 2, 3, 4]),
        ("1:2:3:4:5:6:7:8", [0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8]),
        ("1::", [0, 1] + Array(repeating: 0, count: 14)),
        ("1:2:3:4:5:6:7::", [0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 0]), ("1.2.3", nil), ("1.2.3.256", nil),
        ("01.2.3.4", nil), ("1.2.3.4.", nil),
        (":1", nil), ("1:", nil), (":::", nil), ("1::2::3", nil), ("12345::", nil), ("g::", nil),
        ("1:2:3:4:5:6:7:8:9", nil),
        ("1:2:3:4:5:6:7:8::", nil), ("::1.2.3", nil), ("1.2.3.4::", nil), ("", nil), ("localhost", nil),
    ]

    @Test("only valid IP addresses are read as addresses", arguments: addressTable)
    func addresses(text: String, bytes: [UInt8]?) { #expect(IPAddress(text)?.bytes == bytes) }

    @Test(
        "only 127.0.0.0/8 and ::1 are loopback addresses",
        arguments: [
            ("127.0.0.1", true), ("127.255.0.9", true), ("::1", true), ("0:0::1", true), ("::1%lo", true),
            ("128.0.0.1", false), ("1.0.0.127", false), ("::", false), ("::2", false), ("1::1", false),
            ("::ffff:127.0.0.1", false),
        ])
    func loopback(text: String, isLoopback: Bool) throws {
        #expect(try #require(IPAddress(text)).isLoopback == isLoopback)
    }

    @Test("addresses of one family share a prefix if its bits are equal")
    func prefixes() throws {
        let address = try #require(IPAddress("192.168.255.1"))
        for (other, bits, isShared) in [
            ("192.168.0.0", 16, true), ("192.168.0.0", 17, false), ("192.168.254.0", 23, true), ("::1", 8, false),
            ("1.1.1.1", 0, true), ("192.168.255.1", 33, false),
        ] {
            #expect(address.shares(prefix: bits, with: try #require(IPAddress(other))) == isShared)
        }
    }
}
