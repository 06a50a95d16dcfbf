import CurlewCore
import Testing

@testable import CurlewTool

@Suite("When the tool closes a WebSocket", .timeLimit(.minutes(4)))
struct FarewellTests {
    private let farewell: Farewell
    private let closes: AsyncStream<WebSocketCloseCode>

    /// Waits ten minutes for a missing answer, but only a millisecond after the last one.
    init() {
        let (closes, feed) = AsyncStream<WebSocketCloseCode>.makeStream()
        self.closes = closes
        farewell = Farewell(.init(whileUnanswered: .seconds(600), afterAnswers: .milliseconds(1))) { feed.yield($0) }
    }

    private func firstClose() async -> WebSocketCloseCode? {
        for await code in closes { return code }
        return nil
    }

    @Test("the silence behind the last answer closes it, where the input has ended before")
    func theLastAnswer() async {
        for _ in 0..<2 { await farewell.sends() }
        await farewell.inputEnded()
        for _ in 0..<2 { await farewell.received() }
        #expect(await firstClose() == .normalClosure)
    }

    @Test("the end of the input closes it, where every answer has come before")
    func theEndOfInput() async {
        await farewell.sends()
        // A second answer to the only message does not delay the close.
        for _ in 0..<2 { await farewell.received() }
        await farewell.inputEnded()
        #expect(await firstClose() == .normalClosure)
    }

    @Test("neither the end of the input nor some of the answers close it while others are expected")
    func expectedAnswers() async {
        for _ in 0..<3 { await farewell.sends() }
        await farewell.received()
        await farewell.inputEnded()
        await farewell.received()
        await farewell.interrupt()
        // The last answer ends the timer of ten minutes, which would outlive the test.
        await farewell.received()
        #expect(await firstClose() == .goingAway)
    }
}
