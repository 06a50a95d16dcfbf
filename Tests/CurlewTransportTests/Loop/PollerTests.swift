import Glibc
import Testing

@testable import CurlewTransport

@Suite("Poller", .timeLimit(.minutes(4)))
struct PollerTests {

    /// The two ends of a connection: bytes that are written to one can be read from the other.
    private struct Ends {
        let own: Int32
        let other: Int32

        init() throws {
            var ends: [Int32] = [-1, -1]
            try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
            (own, other) = (ends[0], ends[1])
        }

        func send() { _ = write(other, "x", 1) }
        func receive() {
            var byte: UInt8 = 0
            _ = read(own, &byte, 1)
        }
    }

    private func makePoller() throws -> (Poller, EventDescriptor) {
        let made = try #require(EpollQueue.make())
        return (Poller(queue: made.queue), made.wakeUp)
    }

    /// Returns the events of one wait that does not block.
    private func events(_ poller: inout Poller) -> [Poller.Ready] {
        poller.wait(nanoseconds: 0)
        var events: [Poller.Ready] = []
        for index in 0..<poller.eventCount {
            if let ready = poller.take(index) { events.append(ready) }
        }
        return events
    }

    @Test func reopenedSocketIsCountedOnce() throws {
        var (poller, _) = try makePoller()
        poller.socketOpened(7)
        poller.socketOpened(7)
        #expect(poller.ownedCount == 1)
        #expect(poller.openedCount == 2)
        poller.socketClosed(7)
        #expect(poller.ownedCount == 0)
    }

    @Test func closeOfUnknownSocketIsNotCounted() throws {
        var (poller, _) = try makePoller()
        poller.socketClosed(9)
        #expect(poller.ownedCount == 0)
        poller.socketOpened(9)
        poller.socketClosed(9)
        poller.socketClosed(9)
        #expect(poller.ownedCount == 0)
    }

    @Test(arguments: [true, false]) func vanishedSocketIsForgotten(isWatched: Bool) throws {
        var (poller, _) = try makePoller()
        let ends = try Ends()
        poller.socketOpened(ends.own, mayVanish: true)
        if isWatched { poller.watch(ends.own, for: .read, owner: 3) }
        poller.forgetIfVanished(ends.own)
        #expect(poller.ownedCount == 1)
        // The number of the vanished socket is used again at once.
        let next = try Ends()
        #expect(dup2(next.own, ends.own) == ends.own)
        defer { for end in [ends.own, ends.other, next.own, next.other] { close(end) } }
        if isWatched { poller.unwatch(ends.own) } else { poller.forgetIfVanished(ends.own) }
        #expect(poller.ownedCount == 0)
        // A descriptor that libcurl opened itself, such as a resolver's pipe.
        poller.watch(ends.own, for: .read, owner: 4)
        #expect(write(next.other, "a", 1) == 1)
        #expect(events(&poller).map(\.owner) == [4])
    }

    @Test func connectedSocketIsNotCheckedForVanishing() throws {
        var (poller, _) = try makePoller()
        let ends = try Ends()
        defer { close(ends.other) }
        poller.socketOpened(ends.own, mayVanish: true)
        poller.connected(ends.own)
        close(ends.own)
        poller.forgetIfVanished(ends.own)
        #expect(poller.ownedCount == 1)
        poller.socketClosed(ends.own)
        #expect(poller.ownedCount == 0)
    }

    /// A forked child that has not executed another program keeps the socket open, as `copy` does here.
    @Test func closedSocketHeldByAnotherProcessIsForgotten() throws {
        var (poller, _) = try makePoller()
        let ends = try Ends()
        let copy = dup(ends.own)
        defer { for end in [copy, ends.other] { close(end) } }
        poller.socketOpened(ends.own)
        poller.watch(ends.own, for: .read, owner: 3)
        poller.socketClosed(ends.own)
        close(ends.own)
        ends.send()
        poller.wait(nanoseconds: 0)
        #expect(poller.eventCount == 0)
    }

    @Test func readySocketIsReportedUntilItIsRead() throws {
        var (poller, _) = try makePoller()
        let ends = try Ends()
        defer { for end in [ends.own, ends.other] { close(end) } }
        poller.socketOpened(ends.own)
        poller.watch(ends.own, for: .read, owner: 3)
        #expect(events(&poller).isEmpty)
        ends.send()
        for _ in 0..<2 {
            let ready = try #require(events(&poller).first)
            #expect(ready.fd == ends.own)
            #expect(ready.owner == 3)
            #expect(ready.readiness.contains(.read))
        }
        ends.receive()
        #expect(events(&poller).isEmpty)
    }

    @Test func watchedEventsOfDescriptorCanBeChanged() throws {
        var (poller, _) = try makePoller()
        let ends = try Ends()
        defer { for end in [ends.own, ends.other] { close(end) } }
        poller.watch(ends.own, for: .read, owner: 0)
        poller.watch(ends.own, for: [.read, .write], owner: 0)
        #expect(events(&poller).first?.readiness.contains(.write) == true)
        poller.watch(ends.own, for: .read, owner: 0)
        #expect(events(&poller).isEmpty)
    }

    /// An unwanted event ends the registration that reported it. Otherwise the loop would spin.
    @Test func unwatchedDescriptorIsNotReported() throws {
        var (poller, _) = try makePoller()
        let ends = try Ends()
        defer { for end in [ends.own, ends.other] { close(end) } }
        poller.socketOpened(ends.own)
        poller.watch(ends.own, for: .read, owner: 0)
        poller.unwatch(ends.own)
        ends.send()
        #expect(events(&poller).isEmpty)
        poller.wait(nanoseconds: 0)
        #expect(poller.eventCount == 0)
        poller.watch(ends.own, for: .read, owner: 0)
        #expect(events(&poller).count == 1)
    }

    @Test func eventOfClosedSocketIsNotReportedForItsSuccessor() throws {
        var (poller, _) = try makePoller()
        let first = try Ends()
        poller.socketOpened(first.own)
        poller.watch(first.own, for: .read, owner: 1)
        first.send()
        poller.wait(nanoseconds: 0)
        #expect(poller.eventCount == 1)
        poller.socketClosed(first.own)
        close(first.own)
        close(first.other)
        let second = try Ends()
        defer { for end in [second.own, second.other] { close(end) } }
        poller.socketOpened(second.own)
        poller.watch(second.own, for: .read, owner: 2)
        #expect(poller.take(0) == nil)
        #expect(events(&poller).isEmpty)
        second.send()
        #expect(events(&poller).map(\.owner) == [2])
    }

    /// libcurl closes the resolver's descriptors without telling the engine.
    @Test func descriptorClosedElsewhereIsReportedAtMostOnce() throws {
        var (poller, _) = try makePoller()
        let ends = try Ends()
        poller.watch(ends.own, for: .read, owner: 0)
        close(ends.own)
        close(ends.other)
        _ = events(&poller)
        poller.wait(nanoseconds: 0)
        #expect(poller.eventCount == 0)
    }

    @Test func aSignalEndsTheWaitOnce() async throws {
        var (poller, wakeUp) = try makePoller()
        for _ in 0..<3 { wakeUp.signal() }
        // Without a signal this wait would never end.
        poller.wait(nanoseconds: -1)
        for index in 0..<poller.eventCount { #expect(poller.take(index) == nil) }
        poller.wait(nanoseconds: 0)
        #expect(poller.eventCount == 0)
    }

    private static let waits: [(Int64, Int32)] = [
        (-1, -1), (0, 0), (1, 1), (1_000_000, 1), (1_000_001, 2), (Int64.max, 86_400_000),
    ]

    @Test(arguments: waits) func waitsAreRoundedUpToMilliseconds(_ nanoseconds: Int64, _ milliseconds: Int32) {
        #expect(nanoseconds.pollMilliseconds == milliseconds)
    }

    @Test func mutedSocketReportsNothingToRead() throws {
        var (poller, _) = try makePoller()
        let ends = try Ends()
        defer { for end in [ends.own, ends.other] { close(end) } }
        poller.socketOpened(ends.own)
        poller.watch(ends.own, for: .read, owner: 0)
        ends.send()
        #expect(events(&poller).map(\.fd) == [ends.own])

        poller.mute(ends.own, true)
        #expect(events(&poller).isEmpty)
        // The system must not report the socket either. Otherwise the loop would spin.
        #expect(poller.eventCount == 0)
        poller.watch(ends.own, for: .read, owner: 0)
        #expect(events(&poller).isEmpty)
        poller.watch(ends.own, for: [.read, .write], owner: 0)
        #expect(events(&poller).map(\.readiness) == [.write])
        poller.watch(ends.own, for: .read, owner: 0)

        poller.mute(ends.own, false)
        #expect(events(&poller).map(\.fd) == [ends.own])
    }

    @Test func pendingEventOfMutedSocketIsNotReported() throws {
        var (poller, _) = try makePoller()
        let ends = try Ends()
        defer { for end in [ends.own, ends.other] { close(end) } }
        poller.socketOpened(ends.own)
        poller.watch(ends.own, for: .read, owner: 0)
        ends.send()
        poller.wait(nanoseconds: 0)
        #expect(poller.eventCount == 1)
        poller.mute(ends.own, true)
        #expect(poller.take(0) == nil)
    }

    @Test func socketWithNumberOfMutedOneIsReported() throws {
        var (poller, _) = try makePoller()
        let ends = try Ends()
        defer { for end in [ends.own, ends.other] { close(end) } }
        poller.socketOpened(ends.own)
        poller.watch(ends.own, for: .read, owner: 0)
        poller.mute(ends.own, true)
        poller.socketClosed(ends.own)
        poller.socketOpened(ends.own)
        poller.watch(ends.own, for: .read, owner: 0)
        ends.send()
        #expect(events(&poller).map(\.fd) == [ends.own])
    }

    // MARK: Descriptors that the system refuses to watch

    /// Refuses descriptors while `refuses` is true, as epoll does for lack of memory or watches.
    private final class RefusingQueue: ReadinessQueue {
        let whole: any ReadinessQueue
        var refuses = true

        init(_ whole: any ReadinessQueue) { self.whole = whole }

        var mostEvents: Int { whole.mostEvents }
        func set(_ fd: Int32, for wanted: Readiness, tag: UInt64, isKnown: Bool) -> Bool {
            refuses ? false : whole.set(fd, for: wanted, tag: tag, isKnown: isKnown)
        }
        func remove(_ fd: Int32) { whole.remove(fd) }
        func wait(nanoseconds: Int64) -> Int { whole.wait(nanoseconds: nanoseconds) }
        func event(_ index: Int) -> ReadyEvent? { whole.event(index) }
    }

    private func askedEvents(_ poller: inout Poller) -> [Poller.Ready] {
        poller.wait(nanoseconds: 0)
        poller.askRefused()
        var events: [Poller.Ready] = []
        for index in 0..<poller.eventCount {
            if let ready = poller.take(index) { events.append(ready) }
        }
        return events
    }

    @Test func descriptorRefusedByEpollIsPolled() throws {
        let queue = RefusingQueue(try #require(EpollQueue.make()).queue)
        var poller = Poller(queue: queue)
        let ends = try Ends()
        defer { for end in [ends.own, ends.other] { close(end) } }
        poller.socketOpened(ends.own)
        poller.watch(ends.own, for: .read, owner: 3)
        #expect(poller.hasRefused)
        #expect(askedEvents(&poller).isEmpty)
        ends.send()
        for _ in 0..<2 {
            let ready = try #require(askedEvents(&poller).first)
            #expect(ready.fd == ends.own && ready.owner == 3 && ready.readiness == .read)
        }
        poller.watch(ends.own, for: [.read, .write], owner: 3)
        poller.mute(ends.own, true)
        #expect(askedEvents(&poller).map(\.readiness) == [.write])
        poller.watch(ends.own, for: .read, owner: 3)
        #expect(!poller.hasRefused)
        poller.mute(ends.own, false)
        #expect(poller.hasRefused)
        // Once the system accepts the descriptor, it is watched like any other.
        queue.refuses = false
        #expect(askedEvents(&poller).isEmpty)
        #expect(!poller.hasRefused)
        #expect(events(&poller).map(\.readiness) == [.read])
        queue.refuses = true
        poller.watch(ends.own, for: [.read, .write], owner: 3)
        #expect(poller.hasRefused)
        #expect(askedEvents(&poller).map(\.readiness) == [[.read, .write]])
    }

    @Test func unwatchedRefusedDescriptorIsNotPolled() throws {
        let queue = RefusingQueue(try #require(EpollQueue.make()).queue)
        var poller = Poller(queue: queue)
        let ends = try Ends()
        defer { for end in [ends.own, ends.other] { close(end) } }
        poller.watch(ends.own, for: .read, owner: 0)
        poller.unwatch(ends.own)
        #expect(!poller.hasRefused)
        poller.socketOpened(ends.own)
        poller.watch(ends.own, for: .read, owner: 0)
        poller.socketClosed(ends.own)
        #expect(!poller.hasRefused)
        // An event that was found before `unwatch` is not reported.
        poller.watch(ends.own, for: .write, owner: 0)
        poller.wait(nanoseconds: 0)
        poller.askRefused()
        #expect(poller.eventCount == 1)
        poller.unwatch(ends.own)
        #expect(poller.take(0) == nil)
    }

    /// Files are always ready, and epoll refuses to watch them.
    @Test func aFileIsReadyAlthoughEpollRefusesIt() throws {
        var (poller, _) = try makePoller()
        let file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC)
        try #require(file >= 0)
        defer { close(file) }
        poller.watch(file, for: .read, owner: 0)
        #expect(poller.hasRefused)
        #expect(askedEvents(&poller).map(\.fd) == [file])
    }
}

extension Poller {
    /// Waits as the loop thread does, and passes on the number of events that were found.
    fileprivate mutating func wait(nanoseconds: Int64) {
        waited(eventCount: queue?.wait(nanoseconds: nanoseconds) ?? 0)
    }
}
