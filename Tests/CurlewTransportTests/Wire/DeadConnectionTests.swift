import CurlewCore
import CurlewTesting
import CurlewTransport
import Foundation
import Testing

@Suite("Connections that die unannounced", .timeLimit(.minutes(1)))
struct DeadConnectionTests {
    /// However many connections die under a transport in the course of time: each request stands for itself.
    @Test func theyDoNotAddUp() async throws {
        try await withTransport { transport, server in
            server.route("/x") { _ in .raw(["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"]) }
            for round in 0..<300 {
                let answer = try await transport.fetch(request(server.url("/x")))
                #expect(answer.text == "ok", "\(round)")
            }
        }
    }
}
