import CurlewCore
import Testing

@testable import CurlewTransport

@Suite("Multi handles")
struct CurlMultiTests {
    /// A timer can expire before libcurl's own time has come, and libcurl 8.10.0 to 8.11.0 does not repeat it.
    @Test func aTimerThatExpiresTooEarlyIsSetAgain() throws {
        let parts = try EngineParts()
        defer { parts.close() }
        let deaf = try DeafListener()
        defer { deaf.close() }
        let (transfer, easy) = try parts.prepared("http://127.0.0.1:\(deaf.port)/")
        let multi = try #require(parts.handles.multi(for: transfer))
        easy.transfer = transfer
        transfer.runs(on: easy)
        _ = parts.handles.add(easy, to: multi)
        defer { parts.handles.remove(easy) }
        // The first ones have it begin; from then on the nearest is that of the connection.
        for _ in 0..<4 { multi.timerExpired() }
        #expect(multi.deadline != .never)
        multi.timerExpired()
        #expect(multi.deadline != .never)
        // As after a call of which libcurl says nothing.
        multi.deadline = .never
        multi.askForTimer()
        #expect(multi.deadline != .never)
        #expect(multi.deadline > parts.sockets.now)
    }
}
