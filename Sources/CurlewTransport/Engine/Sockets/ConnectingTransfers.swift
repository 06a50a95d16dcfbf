/// The transfers that have opened a socket and not yet sent their request.
///
/// libcurl tries a host's addresses of one family one after the other, each for half of the time that is left. Driven
/// by events, libcurl before 8.8 opens the socket to the next address only when it is run once more, and sets no timer
/// for that: an address that refuses or does not respond would use up the whole time. Transfers that connect for long
/// are therefore run at intervals.
///
/// libcurl from 8.8 on sets that timer, and until 8.15 running all transfers could lose another one; there this list
/// stays empty.
struct ConnectingTransfers {
    /// The time between two runs, in nanoseconds. Most connections are up before it has passed once.
    static let interval: UInt64 = 100_000_000

    private var members: [ActiveTransfer] = []
    /// When the next run is due.
    private(set) var due = LoopInstant.never

    mutating func opened(for transfer: ActiveTransfer, at now: LoopInstant) {
        guard transfer.entries.connecting < 0 else { return }
        transfer.entries.connecting = members.count
        transfer.entries.connectingSince = now
        members.append(transfer)
        if due == .never { due = now.advanced(byNanoseconds: Self.interval) }
    }

    mutating func remove(_ transfer: ActiveTransfer) {
        guard transfer.entries.connecting >= 0 else { return }
        let last = members.removeLast()
        if last !== transfer {
            members[transfer.entries.connecting] = last
            last.entries.connecting = transfer.entries.connecting
        }
        transfer.entries.connecting = -1
        if members.isEmpty { due = .never }
    }

    /// The transfers to run; empty before `due`.
    mutating func late(at now: LoopInstant) -> [ActiveTransfer] {
        guard due <= now else { return [] }
        due = now.advanced(byNanoseconds: Self.interval)
        return members.filter { $0.entries.connectingSince.advanced(byNanoseconds: Self.interval) <= now }
    }
}
