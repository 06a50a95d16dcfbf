import Glibc
import Testing

@testable import CurlewTransport

@Suite("Poller", .timeLimit(.minutes(4)))
struct PollerTests {
    private func withPoller(_ body: (inout Poller) throws -> Void) throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        var poller = try #require(Poller(wakeUp: ends[0]))
        defer { poller.destroy() }
        try body(&poller)
    }

    @Test func countsASocketOnceThatComesAgainWithoutItsCloseBeingSeen() throws {
        try withPoller { poller in
            poller.socketOpened(7)
            poller.socketOpened(7)
            #expect(poller.ownedCount == 1)
            #expect(poller.openedCount == 2)
            poller.socketClosed(7)
            #expect(poller.ownedCount == 0)
        }
    }

    @Test func countsNoCloseOfWhatItDidNotOpen() throws {
        try withPoller { poller in
            poller.socketClosed(9)
            #expect(poller.ownedCount == 0)
            poller.socketOpened(9)
            poller.socketClosed(9)
            poller.socketClosed(9)
            #expect(poller.ownedCount == 0)
        }
    }
}
