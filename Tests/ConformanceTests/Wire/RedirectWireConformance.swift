internal import Curlew
internal import CurlewCore
internal import CurlewTesting
internal import Foundation
internal import Testing

/// Runs the vectors of `RedirectConformance` through a session. The server is the proxy for every host.
@Suite("Redirects on the wire", .timeLimit(.minutes(4)))
struct RedirectWireConformance {
    struct Case: CorpusCase {
        let decision: RedirectConformance.Case
        let request_headers: [[String]]?
        var id: String { decision.id }
        var group: String { decision.group }

        private enum Key: CodingKey { case request_headers }

        init(from decoder: any Decoder) throws {
            decision = try RedirectConformance.Case(from: decoder)
            request_headers = try decoder.container(keyedBy: Key.self)
                .decodeIfPresent([[String]].self, forKey: .request_headers)
        }

        var start: String { decision.base ?? decision.from_url ?? "http://h1/dir/page.html" }
        /// The bytes of the Location field. `nil` if the response has none.
        var location: Data? {
            if let hex = decision.location_hex { return Data(hex: hex) }
            return (decision.to_url ?? decision.locationText).map { Data($0.utf8) }
        }
    }

    @Test("redirects are followed, refused or delivered as the standard says")
    func redirects() async throws {
        var verdicts: [String: Verdict] = [:]
        for item in try Corpus.cases("redirects", as: Case.self) {
            // A target with `https` would need a tunnel, which the server does not offer.
            guard item.decision.to_url?.hasPrefix("https:") != true else { continue }
            verdicts[item.id] = try await evaluate(item)
        }
        try conform("redirects") { (item: Case) in verdicts[item.id] ?? .notCounted }
    }

    private func evaluate(_ item: Case) async throws -> Verdict {
        let server = try TestServer()
        let start = Self.withoutFragment(item.start)
        server.route("/*") { request in
            if let hops = item.decision.hops {
                let hop = Int(request.path.dropFirst("/hop".count)) ?? 0
                return hop == hops ? .text("end") : Self.answer(item, to: Data("/hop\(hop + 1)".utf8))
            }
            return request.target == start ? Self.answer(item, to: item.location) : .text("end")
        }
        let session = Session(configuration: SessionConfiguration { $0.proxy = .url(server.url("/")) })
        var headers = HTTPHeaders()
        for field in item.request_headers ?? [] { headers.append(name: field[0], value: field[1]) }
        var request = try URLRequest(
            url: item.start, method: HTTPMethod(rawValue: item.decision.method ?? "GET"), headers: headers)
        request.httpBody = item.decision.body.map { Data($0.utf8) }
        let response = await session.request(request).response()
        return verdict(item.decision, response, server)
    }

    private func verdict(
        _ item: RedirectConformance.Case,
        _ response: DataResponse<Data?, CurlewError>,
        _ server: TestServer
    ) -> Verdict {
        let outcome = item.expected.outcome ?? "followed"
        if response.error != nil { return outcome.contains("error") ? .passed : .failed("\(response.error as Any)") }
        let status = response.response?.statusCode
        if status == item.status ?? 302 {
            return outcome.contains("response") ? .passed : .failed("handed over")
        }
        guard outcome == "followed", status == 200, let last = server.requests.last else {
            return .failed("followed with status \(status ?? 0)")
        }
        let expected = item.expected
        if let method = expected.method, last.method != method { return .compare(last.method, method) }
        if let kept = expected.body_kept {
            let body = kept ? item.body ?? "" : ""
            if last.bodyText ?? "" != body { return .compare(last.bodyText ?? "", body) }
        }
        for name in expected.absent_headers ?? [] where last.headers[name] != nil { return .failed("\(name) is kept") }
        if let kept = expected.authorization_kept, (last.headers["Authorization"] != nil) != kept {
            return .failed("Authorization")
        }
        if expected.authorization_kept == false, last.headers["Cookie"] != nil { return .failed("Cookie") }
        if let kept = expected.x_custom_kept, (last.headers["X-Custom"] != nil) != kept { return .failed("X-Custom") }
        if let end = expected.request_target_ends, !last.target.hasSuffix(end) { return .compare(last.target, end) }
        if let url = expected.url { return .compare(last.target, Self.withoutFragment(url)) }
        return .passed
    }

    private static func withoutFragment(_ url: String) -> String { String(url.prefix { $0 != "#" }) }

    private static func answer(_ item: Case, to location: Data?) -> TestServer.Response {
        let status = item.decision.status ?? 302
        var head = Data("HTTP/1.1 \(status) There\r\nConnection: close\r\nContent-Length: 0\r\n".utf8)
        if let location { head += Data("Location: ".utf8) + location + Data("\r\n".utf8) }
        return .raw([head + Data("\r\n".utf8)])
    }
}
