import CurlewCore
import Foundation
import Testing

@Suite struct FreshnessTests {
    struct Lifetime: Sendable, CustomTestStringConvertible {
        let fields: [(String, String)]
        let status: Int
        let mode: CacheMode
        let seconds: TimeInterval
        var testDescription: String { "\(status) \(fields) in a \(mode) cache" }

        init(_ fields: [(String, String)], _ seconds: TimeInterval, status: Int = 200, mode: CacheMode = .private) {
            (self.fields, self.status, self.mode, self.seconds) = (fields, status, mode, seconds)
        }
    }

    static let lifetimes: [Lifetime] = [
        Lifetime([], 0),
        Lifetime([("Cache-Control", "max-age=60")], 60),
        Lifetime([("Cache-Control", "MAX-AGE=\"60\"")], 60),
        Lifetime([("Cache-Control", "x=\"max-age=9\", max-age=60")], 60),
        Lifetime([("Cache-Control", "max-age=60"), ("Cache-Control", "max-age=1")], 60),
        Lifetime([("Cache-Control", "x=\"a"), ("Cache-Control", "max-age=1")], 1),
        Lifetime([("Cache-Control", "max-age=99999999999999999999")], 2_147_483_648),
        // An invalid number makes the response stale, whatever its other fields say.
        Lifetime([("Cache-Control", "max-age=-1"), ("Expires", dateField(60))], 0),
        Lifetime([("Cache-Control", "max-age=6a")], 0),
        Lifetime([("Cache-Control", "max-age=1.5")], 0),
        Lifetime([("Cache-Control", "max-age")], 0),
        Lifetime([("Cache-Control", "s-maxage=60, max-age=5")], 5),
        Lifetime([("Cache-Control", "s-maxage=60, max-age=5")], 60, mode: .shared),
        Lifetime([("Cache-Control", "s-maxage=x, max-age=5")], 0, mode: .shared),
        Lifetime([("Cache-Control", "max-age=5"), ("Expires", dateField(60))], 5),
        Lifetime([("Expires", dateField(60))], 60),
        Lifetime([("Expires", dateField(60)), ("Date", dateField(10))], 50),
        Lifetime([("Expires", dateField(-60))], 0),
        Lifetime([("Expires", "0"), ("Last-Modified", dateField(-1000))], 0),
        Lifetime([("Expires", dateField(60).uppercased()), ("Date", dateField(0))], 60),
        Lifetime([("Expires", dateField(60).replacing("GMT", with: "UTC"))], 0),
        Lifetime([("Last-Modified", dateField(-1000))], 100),
        Lifetime([("Last-Modified", dateField(-1000)), ("Date", dateField(-500))], 50),
        Lifetime([("Last-Modified", dateField(500))], 0),
        Lifetime([("Last-Modified", dateField(-100_000_000))], 86_400),
        Lifetime([("Last-Modified", dateField(-1000))], 100, status: 404),
        Lifetime([("Last-Modified", dateField(-1000))], 0, status: 201),
        Lifetime([("Last-Modified", dateField(-1000)), ("Cache-Control", "public")], 100, status: 201),
        Lifetime([], 86_400, status: 301),
        Lifetime([], 0, status: 302),
    ]

    @Test(arguments: lifetimes) func headersDecideFreshnessLifetime(of item: Lifetime) {
        #expect(Freshness(stored(item.fields, status: item.status), mode: item.mode).lifetime == item.seconds)
    }

    static let ages: [(fields: [(String, String)], delay: TimeInterval, age: TimeInterval)] = [
        ([], 0, 0), ([], 3, 3), ([("Age", "7")], 0, 7), ([("Age", "7")], 3, 10),
        ([("Age", "7, 0")], 0, 7), ([("Age", "7"), ("Age", "0")], 0, 7), ([("Age", "-7")], 0, 0),
        ([("Age", "x")], 0, 0), ([("Age", ", 7")], 0, 0), ([("Age", "99999999999")], 0, 2_147_483_648),
        // If the server's clock is slow, the response looks older. If it is fast, the response does not look younger.
        ([("Date", dateField(-20))], 3, 20), ([("Date", dateField(20))], 3, 3),
        ([("Date", dateField(-20)), ("Age", "30")], 3, 33), ([("Date", "no date")], 2, 2),
    ]

    @Test(arguments: ages.indices) func ageAndDatesDecideInitialAge(at index: Int) {
        let item = Self.ages[index]
        var response = stored(item.fields)
        response.requestTime = cacheTestTime.addingTimeInterval(-item.delay)
        let freshness = Freshness(response, mode: .private)
        #expect(freshness.initialAge == item.age)
        #expect(freshness.age(at: cacheTestTime.addingTimeInterval(5)) == item.age + 5)
    }

    @Test func clockSetBackDoesNotReduceAge() {
        let freshness = Freshness(stored([("Cache-Control", "max-age=60"), ("Age", "5")]), mode: .private)
        let before = cacheTestTime.addingTimeInterval(-3600)
        #expect(freshness.age(at: before) == 5)
        #expect(!freshness.isFresh(at: before))
        #expect(freshness.isFresh(at: cacheTestTime.addingTimeInterval(-0.5)))
    }

    static let stale: [(control: String, mode: CacheMode, mustRevalidate: Bool, window: TimeInterval)] = [
        ("max-age=1", .private, false, 0),
        ("max-age=1, stale-while-revalidate=9", .private, false, 9),
        ("max-age=1, stale-if-error=9", .private, false, 9),
        ("max-age=1, stale-if-error=9, stale-while-revalidate=10", .private, false, 10),
        ("max-age=1, stale-while-revalidate=x", .private, false, 0),
        ("max-age=1, stale-while-revalidate=9, must-revalidate", .private, true, 0),
        ("max-age=1, stale-while-revalidate=9, proxy-revalidate", .private, false, 9),
        ("max-age=1, stale-while-revalidate=9, proxy-revalidate", .shared, true, 0),
        ("s-maxage=1, stale-while-revalidate=9", .shared, true, 0),
        ("max-age=1, stale-while-revalidate=9, no-cache", .private, true, 0),
        ("max-age=1, stale-while-revalidate=9, no-cache=\"a\"", .private, false, 9),
        ("max-age=1, stale-while-revalidate=9, no-cache=\"a\", no-cache", .private, true, 0),
        ("max-age=1, stale-while-revalidate=9, no-cache, no-cache=\"a\"", .private, true, 0),
        ("max-age=1, stale-while-revalidate=9, no-cache=\"a\", no-cache=\"b\"", .private, false, 9),
    ]

    @Test(arguments: stale.indices) func cacheControlDecidesStaleWindow(at index: Int) {
        let item = Self.stale[index]
        let freshness = Freshness(stored([("Cache-Control", item.control)]), mode: item.mode)
        #expect(freshness.mustRevalidate == item.mustRevalidate)
        let lifetime = freshness.cacheLifetime(canBeValidated: true)
        #expect(lifetime.usableUntil.timeIntervalSince(lifetime.freshUntil) == item.window)
        let end: TimeInterval = freshness.needsValidation ? 0 : 1
        #expect(lifetime.freshUntil == cacheTestTime.addingTimeInterval(end))
    }
}
