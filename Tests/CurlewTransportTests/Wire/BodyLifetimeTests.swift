import CurlewCore
import CurlewTesting
import CurlewTransport
import Foundation
import Testing

@Suite("The life of a body stream", .timeLimit(.minutes(4)))
struct BodyLifetimeTests {
    /// The stream keeps the waker that it was opened with.
    @Test func endsWithItsExchange() async throws {
        try await withTransport { transport, server in
            weak var left: ScriptedBody?
            func exchange() async throws {
                let body = ScriptedBody([.bytes("hello")])
                left = body
                let upload = request(server.url("/post"), method: .post, body: .stream(body, length: nil))
                #expect(try await transport.fetch(upload).status == 200)
                #expect(body.closes == 1)
            }
            try await exchange()
            #expect(await eventually { left == nil })
        }
    }
}
