internal import CurlewCore
internal import Foundation
internal import Testing

@Suite("Dates, ranges, delays", .timeLimit(.minutes(4)))
struct HeaderValueConformance {
    @Test("HTTP dates parse in three formats")
    func dates() throws {
        struct Case: CorpusCase {
            let id: String
            let input: String
            let expected: String?
            let level: String
            var group: String { level }
        }
        let now = try #require(Self.instant("2026-01-01T00:00:00Z"))
        try conform("http-date") { (item: Case) in
            guard item.level != "lenient" else { return .notCounted }
            return .compare(HTTPDate.date(from: item.input, now: now), item.expected.flatMap(Self.instant))
        }
    }

    @Test("Retry-After, Content-Range and max-age parse, or are ignored")
    func values() throws {
        struct Case: CorpusCase {
            struct Range: Decodable, Equatable {
                let first: Int64
                let last: Int64
                let length: Int64
            }
            enum Seconds: Decodable, Equatable {
                case number(Int64)
                case clamped

                init(from decoder: any Decoder) throws {
                    let container = try decoder.singleValueContainer()
                    self = (try? container.decode(Int64.self)).map(Self.number) ?? .clamped
                }
            }
            let id: String
            let field: String
            let input: String
            let now: String?
            let expected: Range?
            let expected_seconds: Seconds?
            var group: String { field }
        }
        func evaluate(_ seconds: Int64?, _ expected: Case.Seconds?, isClamped: Bool) -> Verdict {
            switch expected {
            case .clamped: isClamped ? .passed : .failed("got \(seconds as Any), expected a clamped number")
            case .number(let number): .compare(seconds, number)
            case nil: .compare(seconds, nil)
            }
        }
        try conform("header-values") { (item: Case) in
            switch item.field {
            case "Content-Range":
                let located = ContentRange(item.input)?.located
                let range = located.map {
                    Case.Range(first: $0.range.lowerBound, last: $0.range.upperBound, length: $0.length)
                }
                return .compare(range, item.expected)
            case "Retry-After":
                let now = item.now.flatMap(Self.instant) ?? Date(timeIntervalSince1970: 0)
                let delay = RetryAfter.delay(item.input, now: now)
                return evaluate(
                    delay?.components.seconds, item.expected_seconds, isClamped: delay == .seconds(86_400))
            default:
                let age = CacheControl(item.input).maxAge
                return evaluate(age, item.expected_seconds, isClamped: age == DeltaSeconds.maximum)
            }
        }
    }

    static func instant(_ text: String) -> Date? { try? Date(text, strategy: .iso8601) }
}
