internal import CurlewCore
internal import Foundation
internal import Testing

/// Chromium's vectors for freshness, age, status 304 and validators.
@Suite struct FreshnessConformance {
    struct Case: CorpusCase {
        let id: String
        let kind: String
        let headers: String?
        let request_time: String?
        let response_time: String?
        let now: String?
        let stored: String?
        let response_304: String?
        let expected: Expectation

        var group: String { kind }
    }

    enum Expectation: Decodable, Equatable {
        case text(String)
        case number(Int)
        case bool(Bool)

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let value = try? container.decode(Bool.self) {
                self = .bool(value)
            } else if let value = try? container.decode(Int.self) {
                self = .number(value)
            } else {
                self = .text(try container.decode(String.self))
            }
        }
    }

    @Test func cacheFreshnessMatchesTheCorpus() throws {
        try conform("cache-freshness") { (item: Case) in
            switch item.kind {
            case "validation": .compare(try Self.usability(of: item), item.expected)
            case "current-age":
                .compare(.number(Int(try Self.freshness(of: item).age(at: item.date(item.now)))), item.expected)
            case "update-304": try Self.evaluateUpdate(item)
            default:
                .compare(.bool(EntityValidator(Self.head(item.headers ?? "").headers) != nil), item.expected)
            }
        }
    }

    private static func usability(of item: Case) throws -> Expectation {
        let (freshness, now) = (try freshness(of: item), try item.date(item.now))
        if CacheControl(head(item.headers ?? "").headers).has("no-store") { return .text("validate") }
        if freshness.isFresh(at: now) { return .text("fresh") }
        let staleness = freshness.staleness(at: now)
        return .text(staleness < freshness.staleWhileRevalidate ? "stale-while-revalidate" : "validate")
    }

    private static func freshness(of item: Case) throws -> Freshness {
        let response = StoredResponse(
            head: head(item.headers ?? ""),
            requestTime: try item.date(item.request_time),
            responseTime: try item.date(item.response_time)
        )
        return Freshness(response, mode: .private)
    }

    private static func evaluateUpdate(_ item: Case) throws -> Verdict {
        let old = StoredResponse(head: head(item.stored ?? ""), requestTime: .distantPast, responseTime: .distantPast)
        let new = Revalidation.updated(
            old,
            with: head(item.response_304 ?? ""),
            requestTime: .distantPast,
            responseTime: .distantPast,
            mode: .private
        )
        guard case .text(let text) = item.expected else { return .failed("no text is expected") }
        func fields(_ head: ResponseHead) -> Set<HTTPHeader> { Set(head.headers) }
        return .compare(fields(new.head), fields(head(text)))
    }

    /// Parses a status line and fields, each on a line.
    private static func head(_ text: String) -> ResponseHead {
        var lines = text.split(separator: "\n").map(String.init)[...]
        let status = lines.popFirst()?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 200
        let fields = lines.map { line in
            let parts = line.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            return HTTPHeader(name: parts[0], value: parts.count > 1 ? parts[1] : "")
        }
        return ResponseHead(status: status, headers: HTTPHeaders(received: fields))
    }
}

extension FreshnessConformance.Case {
    func date(_ text: String?) throws -> Date { try Date(text ?? "", strategy: .iso8601) }
}
