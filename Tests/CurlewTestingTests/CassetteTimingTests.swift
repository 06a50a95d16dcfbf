import CurlewTesting
import Foundation
import Testing

@Suite("The time that redaction takes", .timeLimit(.minutes(4)))
struct CassetteTimingTests {
    @Test(
        "grows with the length of a body",
        arguments: [
            ("text/xml", "<pin>", "<pin'", ""), ("text/xml", "<pin>", "<pin'", "'>"),
            ("text/xml", "<pin>", "<pin'>", ""),
            ("text/xml", "", "<pin", ">"), ("text/xml", "", "<pin a=\"</pin>", ""), ("text/xml", "<pin>", "< ", ""),
            ("application/graphql", "{", "pin # ", "}"), ("application/graphql", "{", "$pin: [", "}"),
        ])
    func bodies(type: String, start: String, part: String, end: String) throws {
        func time(_ count: Int) throws -> Duration {
            let text = start + String(repeating: part, count: count) + end
            let exchange = Cassette.Exchange(
                request: Cassette.Request(
                    method: "POST", url: "http://mock.test/", headers: [Cassette.Field("Content-Type", type)],
                    body: .text(text)))
            return try ProcessorTime.ofFastestRound({ exchange }) { exchange in
                exchange = CassetteRedaction().redacted(exchange)
                let body = try #require(exchange.request.body)
                #expect(!body.data.isEmpty)
            }
        }
        let (few, many) = (try time(1_000), try time(10_000))
        #expect(many < few * 30, "\(few) for 1 000, \(many) for 10 000")
    }
}
