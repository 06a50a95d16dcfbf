import Testing

@testable import CurlewTransport

@Suite("Deadline guard")
struct DeadlineGuardTests {
    private static func at(_ seconds: UInt64) -> LoopInstant { LoopInstant(nanoseconds: seconds * 1_000_000_000) }

    /// The number of sockets that each wait found, of at most four, and the second up to which all ready sockets have
    /// been reported after the last wait. The first wait begins at second 1, the next one at second 2.
    static let cases: [(String, [Int], watched: Int, seconds: UInt64)] = [
        ("a wait that finds nothing", [0], 9, 1),
        ("a wait that reports all", [3], 9, 1),
        ("the last wait counts", [3, 0, 1], 9, 3),
        ("a full wait may not be all", [4], 9, 0),
        ("an instant that was reached stays reached", [2, 4], 9, 1),
        ("the wait after a full one reports the rest", [4, 1], 9, 1),
        ("a check counts from its beginning", [2, 4, 4, 0], 12, 2),
        ("if all stay ready, each was reported once", [4, 4, 4], 9, 1),
        ("then the next check begins", [4, 4, 4, 4], 9, 1),
        ("and it ends as well", [4, 4, 4, 4, 4, 4], 9, 4),
        ("as many as are watched", [4], 4, 1),
    ]

    @Test(arguments: cases) func seenTimeFollowsWaits(name: String, counts: [Int], watched: Int, seconds: UInt64) {
        var deadlines = DeadlineGuard()
        for (index, count) in counts.enumerated() {
            deadlines.waited(from: Self.at(UInt64(index) + 1), found: count, of: 4, watched: watched)
        }
        #expect(deadlines.seenUntil == Self.at(seconds), "\(name)")
    }
}
