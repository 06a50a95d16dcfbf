internal import CurlewCore
internal import Foundation
internal import Testing

@Suite("Redirects", .timeLimit(.minutes(4)))
struct RedirectConformance {
    struct Case: CorpusCase {
        struct Expected: Decodable {
            let outcome: String?
            let status: Int?
            let method: String?
            let body_kept: Bool?
            let absent_headers: [String]?
            let request_target_ends: String?
            let url: String?
            let authorization_kept: Bool?
            let x_custom_kept: Bool?
        }
        let id: String
        let status: Int?
        let location: String?
        let location_hex: String?
        let method: String?
        let body: String?
        let hops: Int?
        let base: String?
        let from_url: String?
        let to_url: String?
        let expected: Expected
        var group: String { id.split(separator: "-").dropFirst().first.map(String.init) ?? "" }

        /// The value of Location; `/next` for cases about methods, which have no target.
        var locationText: String? {
            location ?? location_hex.flatMap { Data(hex: $0) }.map { RedirectLocation.text(of: $0) }
                ?? method.map { _ in "/next" }
        }
    }

    @Test("the decision about each redirect follows the standard")
    func decisions() throws {
        try conform("redirects") { (item: Case) in
            let base = try #require(URL(string: item.base ?? item.from_url ?? "http://h1/dir/page.html"))
            guard let hops = item.hops else {
                return Self.evaluate(item, Self.action(item, base: base, location: item.to_url ?? item.locationText))
            }
            for hop in 0..<hops {
                let action = Self.action(item, base: base, location: "/hop\(hop)", hops: hop)
                guard case .follow = action else { return Self.evaluate(item, action) }
            }
            return .compare(item.expected.outcome, "followed")
        }
    }

    static func action(_ item: Case, base: URL, location: String?, hops: Int = 0) -> RedirectAction {
        var head = ResponseHead(status: item.status ?? 302)
        if let location { head.headers.append(name: "Location", value: location) }
        let body = item.body.map { BodySource.data(Data($0.utf8)) } ?? .none
        let source = RedirectSource(
            url: base, method: HTTPMethod(rawValue: item.method ?? "GET"), body: body, hops: hops)
        return RedirectPolicy().action(for: head, answering: source)
    }

    static func evaluate(_ item: Case, _ action: RedirectAction) -> Verdict {
        let expected = item.expected
        switch action {
        case .deliver:
            return expected.outcome?.contains("response") == true ? .passed : .failed("delivered")
        case .refuse(let error):
            return expected.outcome?.contains("error") == true ? .passed : .failed("\(error)")
        case .follow(let next):
            if let outcome = expected.outcome, outcome != "followed" { return .failed("followed to \(next.url)") }
            if let method = expected.method, next.method.rawValue != method {
                return .compare(next.method.rawValue, method)
            }
            if let kept = expected.body_kept, item.body != nil, next.dropsBody == kept { return .failed("body") }
            let names = (expected.absent_headers ?? []) + ["authorization", "cookie", "x-custom"]
            let fields = HTTPHeaders(names.map { HTTPHeader(name: $0, value: "v") })
            let removed = Set(next.headersToRemove(from: fields, by: RedirectPolicy()).map { $0.lowercased() })
            for name in expected.absent_headers ?? [] where !removed.contains(name.lowercased()) {
                return .failed("\(name) is kept")
            }
            if let kept = expected.authorization_kept, removed.contains("authorization") == kept {
                return .failed("Authorization")
            }
            if expected.authorization_kept == false, !removed.contains("cookie") { return .failed("Cookie") }
            if let kept = expected.x_custom_kept, removed.contains("x-custom") == kept { return .failed("X-Custom") }
            if let end = expected.request_target_ends, !next.url.absoluteString.hasSuffix(end) {
                return .failed("\(next.url) does not end in \(end)")
            }
            if let url = expected.url { return .compare(next.url.absoluteString, url) }
            return .passed
        }
    }
}
