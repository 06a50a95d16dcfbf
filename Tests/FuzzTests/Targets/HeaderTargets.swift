#if !FUZZING
@testable internal import CurlewCore
internal import Foundation
#else
import Foundation
#endif

extension FuzzTarget {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)

    static let headers = [
        FuzzTarget("content-disposition") { input throws(BrokenProperty) in
            let disposition = ContentDisposition(parsing: input.text)
            if let filename = disposition.filename {
                try require(
                    !filename.isEmpty && !filename.utf8.contains { $0 == 0 || $0 == 0x0D || $0 == 0x0A },
                    "a file name is text on one line")
                try checkWriting(filename)
            }
            if let safe = disposition.safeFilename { try checkSafe(safe) }
        },
        FuzzTarget("safe-filename") { input throws(BrokenProperty) in
            if let safe = SafeFilename.make(input.text) { try checkSafe(safe) }
        },
        FuzzTarget("media-type") { input throws(BrokenProperty) in
            for type in [MediaType(input.text), MediaType.effective(of: input.lines)] {
                guard let type else { continue }
                try require(type.description.isHTTPFieldValue, "a media type can be written into a header")
                try require(MediaType(type.description), equals: type, "a media type is read as it was written")
                try require(
                    Set(type.parameters.map(\.name)).count == type.parameters.count, "a parameter stands once")
            }
        },
        FuzzTarget("http-date") { input throws(BrokenProperty) in
            guard let date = HTTPDate.date(from: input.text, now: now) else { return }
            let text = HTTPDate.string(from: date)
            try require(text.utf8.count, equals: 29, "a date has 29 bytes")
            try require(HTTPDate.date(from: text, now: now), equals: date, "a date is read as it was written")
        },
        FuzzTarget("retry-after") { input throws(BrokenProperty) in
            for maximum in [Duration.zero, .seconds(120), .seconds(86_400)] {
                guard let delay = RetryAfter.delay(input.text, now: now, maximum: maximum) else { continue }
                try require(delay >= .zero && delay <= maximum, "a delay is within its bounds")
            }
        },
        FuzzTarget("cache-control") { input throws(BrokenProperty) in
            let control = CacheControl(input.text)
            for name in control.directives.keys {
                try require(name.isHTTPToken && name == ASCII.lowercased(name), "names are tokens in small letters")
            }
            guard let age = control.maxAge else { return }
            try require((0...DeltaSeconds.maximum).contains(age), "an age is within its bounds")
        },
        FuzzTarget("hsts") { input throws(BrokenProperty) in
            let policy = StrictTransportSecurity(input.text)
            if let policy {
                try require((0...DeltaSeconds.maximum).contains(policy.maxAge), "an age is within its bounds")
            }
            var list = HSTSList()
            guard let url = URL(string: "https://a.example/"), let plain = URL(string: "http://b.a.example:80/x") else {
                return
            }
            list.receive(["Strict-Transport-Security": input.text], from: url, at: now)
            let holds = policy.map { $0.maxAge > 0 } ?? false
            try require(list.contains("A.example", at: now), equals: holds, "the list knows what the header says")
            let below = holds && policy?.includesSubdomains == true
            try require((try? list.upgraded(plain, at: now))?.scheme == "https", equals: below, "names below follow")
        },
        FuzzTarget("auth-challenges") { input throws(BrokenProperty) in
            for challenge in AuthenticationChallenge.parse(input.lines) {
                try require(!challenge.scheme.isEmpty, "a challenge has a scheme")
                try require(
                    challenge.parameters.isEmpty || challenge.token68 == nil, "a token stands alone")
                try require(
                    challenge.parameters.keys.allSatisfy { !$0.isEmpty && $0 == ASCII.lowercased($0) },
                    "names are in small letters")
            }
        },
        FuzzTarget("content-range") { input throws(BrokenProperty) in
            guard let range = ContentRange(input.text) else { return }
            try require(range.range != nil || range.length != nil, "it says something")
            guard let part = range.range else { return }
            try require(part.lowerBound >= 0 && part.upperBound < .max, "a part can be counted")
            if let length = range.length { try require(part.upperBound < length, "a part lies in the whole") }
        },
    ]

    private static func checkSafe(_ name: String) throws(BrokenProperty) {
        try require(!name.isEmpty && name.utf8.count <= 255, "a safe name has 1 to 255 bytes")
        try require(!name.utf8.contains { $0 == 0x2F || $0 == 0x5C || $0 < 0x20 }, "a safe name is one component")
        try require(
            name.unicodeScalars.first != "." && name.unicodeScalars.last != ".", "a safe name hides nothing")
        try require(
            SafeFilename.make(name).map { $0.isSameBytes(as: name) } ?? false, "a safe name is left as it is")
    }

    private static func checkWriting(_ filename: String) throws(BrokenProperty) {
        for fallback in [ContentDisposition.Fallback.automatic, .none, .text("f\"\\\r\n.txt")] {
            let header = ContentDisposition(filename: filename, fallback: fallback).headerValue
            try require(header.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }, "a header is printable ASCII")
            let read = ContentDisposition(parsing: header)
            try require(read.type, equals: "attachment", "the type is read as it was written")
            try require(
                read.filename.map { $0.isSameBytes(as: filename) } ?? false,
                "a file name is read as it was written: \(header)")
        }
    }
}
