#if !FUZZING
@testable internal import CurlewCore
internal import Foundation
#else
import Foundation
#endif

extension FuzzTarget {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)

    static let cookies = [
        FuzzTarget("cookie-date") { input throws(BrokenProperty) in
            guard let date = CookieDate.parse(input.text) else { return }
            let year = CivilDate(date).year
            try require((1601...9999).contains(year), "a year that has four digits")
            try require(CookieDate.parse(HTTPDate.string(from: date)), equals: date, "a date is read as it was written")
        },
        FuzzTarget("set-cookie") { input throws(BrokenProperty) in
            guard let url = URL(string: "https://www.a.example/dir/page") else { return }
            var store = CookieStore()
            for line in input.lines {
                if let parsed = SetCookieParser.parse(line) {
                    try require(
                        (1...SetCookieParser.maximumPairLength).contains(
                            parsed.name.utf8.count + parsed.value.utf8.count), "a pair has a bounded length")
                }
                if let offer = CookieStore.offer([line], from: url, at: now, publicSuffixes: nil) {
                    store.receive(offer, at: now)
                }
            }
            try require(store.count <= store.limits.perDomain * 2, "a domain has a bounded number of cookies")
            for cookie in store.all(at: now) {
                try require(cookie.isSendable, "what is stored can be sent")
                try require(Hostname.matches("www.a.example", domain: cookie.domain), "no cookies for strangers")
                try require(cookie.path.hasPrefix("/"), "a path begins with a slash")
            }
            guard let header = store.header(for: url, at: now) else { return }
            try require(header.isHTTPFieldValue, "what is stored can stand in a header")
            let kept = store.all(at: now).filter { !hasTab($0) }
            try require(reread(kept).count, equals: kept.count, "a file keeps every cookie")
        },
        FuzzTarget("cookie-file") { input throws(BrokenProperty) in
            let once = reread(NetscapeCookieFile.cookies(in: input.text, now: now))
            try require(reread(once), equals: once, "a cookie file is read as it was written")
        },
        FuzzTarget("cookie-file-writing") { input throws(BrokenProperty) in
            // A program may make cookies from any strings.
            let fields = input.bytes.split(separator: 0x1E, maxSplits: 3, omittingEmptySubsequences: false).map {
                String(decoding: $0, as: UTF8.self)
            }
            guard fields.count == 4 else { return }
            let cookie = Cookie(
                name: fields[0], value: fields[1], domain: fields[2], path: fields[3], created: now)
            let read = reread([cookie])
            try require(read.count <= 1, "a cookie never becomes two")
            guard let first = read.first else { return }
            try require(
                first.name.isSameBytes(as: cookie.name) && first.value.isSameBytes(as: cookie.value)
                    && first.path.isSameBytes(as: cookie.path), "a cookie never becomes another")
        },
    ]

    private static func hasTab(_ cookie: Cookie) -> Bool {
        [cookie.name, cookie.value, cookie.path].contains { $0.utf8.contains(0x09) }
    }

    private static func reread(_ cookies: [Cookie]) -> [Cookie] {
        NetscapeCookieFile.cookies(in: NetscapeCookieFile.text(of: cookies), now: now)
    }
}
