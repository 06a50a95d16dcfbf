internal import CurlewCore
internal import Testing

@Suite("Retries without a pause", .timeLimit(.minutes(4)))
struct RetryPacingTests {
    @Test("the first are immediate, then they wait longer and longer, and in the end there are no more")
    func immediate() {
        var pacing = RetryPacing()
        let pauses = (0..<100).map { _ in pacing.pause(asked: .zero, after: .zero) }
        #expect(pauses.prefix(5).allSatisfy { $0 == .zero })
        let growing: [Duration] = [10, 20, 40, 80, 160, 320, 640, 1000, 1000].map { .milliseconds($0) }
        #expect(pauses.dropFirst(5).prefix(9).elementsEqual(growing))
        #expect(pauses.last == .seconds(1))
        #expect(pacing.pause(asked: .zero, after: .zero) == nil)
        #expect(pacing.pause(asked: .milliseconds(49), after: .zero) == nil)
    }

    @Test(
        "a retry after a real pause is not counted",
        arguments: [(50, 0), (0, 50), (25, 25), (60_000, 0), (0, 60_000)])
    func paused(asked: Int, waited: Int) {
        var pacing = RetryPacing(immediateRetries: 99)
        for _ in 0..<1000 {
            let pause = pacing.pause(asked: .milliseconds(asked), after: .milliseconds(waited))
            #expect(pause == .milliseconds(asked))
        }
        #expect(pacing == RetryPacing(immediateRetries: 99))
    }

    @Test("a short pause that was asked for is never made shorter")
    func short() {
        var pacing = RetryPacing(immediateRetries: 5)
        #expect(pacing.pause(asked: .milliseconds(30), after: .zero) == .milliseconds(30))
        #expect(pacing.pause(asked: .milliseconds(5), after: .milliseconds(1)) == .milliseconds(20))
    }
}
