internal import Glibc

/// Waits with poll(2), which is told all descriptors at every wait.
final class PollQueue: ReadinessQueue {
    private let wakeUp: WakeUpPipe
    /// The first is the wake-up's; `tags` runs beside it.
    private var watched: [pollfd]
    private var tags: [UInt64] = [.max]
    /// Where a descriptor stands in `watched`.
    private var positions: [Int32: Int] = [:]
    private var ready: [ReadyEvent] = []

    /// A number that is closed is told as POLLNVAL, and one that is used again as if it were the old one.
    var forgetsClosedDescriptors: Bool { false }
    /// poll(2) has its own list until it returns.
    var changesDuringWaits: Bool { false }
    var mostEvents: Int { .max }

    init(wakeUp: WakeUpPipe) {
        self.wakeUp = wakeUp
        watched = [pollfd(fd: wakeUp.readEnd, events: Int16(POLLIN), revents: 0)]
    }

    func set(_ fd: Int32, for wanted: Readiness, tag: UInt64, isKnown: Bool) -> Bool {
        let entry = pollfd(fd: fd, events: wanted.pollFlags, revents: 0)
        if let position = positions[fd] {
            watched[position] = entry
            tags[position] = tag
        } else {
            positions[fd] = watched.count
            watched.append(entry)
            tags.append(tag)
        }
        return true
    }

    func remove(_ fd: Int32) {
        guard let position = positions.removeValue(forKey: fd) else { return }
        // The last takes the place.
        let (last, tag) = (watched.removeLast(), tags.removeLast())
        guard position < watched.count else { return }
        watched[position] = last
        tags[position] = tag
        positions[last.fd] = position
    }

    func wait(nanoseconds: Int64) -> Int {
        ready.removeAll(keepingCapacity: true)
        guard poll(&watched, nfds_t(watched.count), nanoseconds.pollMilliseconds) > 0 else { return 0 }
        if watched[0].revents != 0 { wakeUp.drain() }
        for index in watched.indices.dropFirst() where watched[index].revents != 0 {
            ready.append(ReadyEvent(tag: tags[index], readiness: Readiness(pollFlags: watched[index].revents)))
        }
        return ready.count
    }

    func event(_ index: Int) -> ReadyEvent? { ready[index] }
}

extension Readiness {
    /// What poll(2) is asked for.
    var pollFlags: Int16 {
        var flags: Int32 = 0
        if contains(.read) { flags |= POLLIN }
        if contains(.write) { flags |= POLLOUT }
        return Int16(truncatingIfNeeded: flags)
    }

    /// What poll(2) answers.
    init(pollFlags: Int16) {
        let flags = Int32(pollFlags)
        self = []
        if flags & POLLIN != 0 { insert(.read) }
        if flags & POLLOUT != 0 { insert(.write) }
        if flags & POLLERR != 0 { insert(.error) }
        if flags & POLLHUP != 0 { insert(.hangUp) }
        if flags & POLLNVAL != 0 { insert(.closed) }
    }
}
