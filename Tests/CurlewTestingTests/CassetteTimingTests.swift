import CurlewTesting
import Foundation
import Testing

@Suite("The time that redaction takes", .timeLimit(.minutes(4)))
struct CassetteTimingTests {
    @Test(
        "grows with the length of a body",
        arguments: [
            ("text/xml", "<pin>", ["<pin'"], ""), ("text/xml", "<pin>", ["<pin'"], "'>"),
            ("text/xml", "<pin>", ["<pin'>"], ""), ("text/xml", "", ["<pin"], ">"),
            ("text/xml", "", ["<pin a=\"</pin>"], ""), ("text/xml", "<pin>", ["< "], ""),
            ("text/xml", "", ["<input name=pin value=x>"], ""),
            ("text/xml", "", ["<input name=pin value=x>"], "</input>"),
            ("application/graphql", "{", ["pin # "], "}"), ("application/graphql", "{", ["$pin: ["], "}"),
            ("text/plain", "", [" ", "a:1 "], ""), ("text/plain", "", ["- ", "pin:\n"], ""),
        ])
    func bodies(type: String, start: String, parts: [String], end: String) throws {
        var redaction = CassetteRedaction()
        redaction.keepsOtherRequestBodies = true
        func time(_ count: Int) throws -> Duration {
            let text = start + parts.map { String(repeating: $0, count: count) }.joined() + end
            let exchange = Cassette.Exchange(
                request: Cassette.Request(
                    method: "POST", url: "http://mock.test/", headers: [Cassette.Field("Content-Type", type)],
                    body: .text(text)))
            return try ProcessorTime.ofFastestRound({ exchange }) { exchange in
                exchange = redaction.redacted(exchange)
                let body = try #require(exchange.request.body)
                #expect(!body.data.isEmpty)
            }
        }
        let (few, many) = (try time(1_000), try time(10_000))
        #expect(many < few * 30, "\(few) for 1 000, \(many) for 10 000")
    }
}
