/// The transfers that have opened a socket and not sent yet.
///
/// libcurl tries a host's addresses of one family one after the other, each for half of the time that is left. Driven by
/// events, 7.88 opens the socket to the next one only when it is run once more, and sets no timer for that: an address
/// that does not answer, or refuses, would use up the whole time. So transfers that connect for long are run now and then.
/// From 8.8 on it sets that timer, and until 8.15 running all could lose another one; there this stays empty.
struct ConnectingTransfers {
    /// Most connections are there before it is over for the first time.
    static let interval: UInt64 = 100_000_000

    private var members: [ActiveTransfer] = []
    /// When the next look at them is due.
    private(set) var due = LoopInstant.never

    mutating func opened(for transfer: ActiveTransfer, at now: LoopInstant) {
        guard transfer.connectingIndex < 0 else { return }
        transfer.connectingIndex = members.count
        transfer.connectingSince = now
        members.append(transfer)
        if due == .never { due = now.advanced(byNanoseconds: Self.interval) }
    }

    mutating func remove(_ transfer: ActiveTransfer) {
        guard transfer.connectingIndex >= 0 else { return }
        let last = members.removeLast()
        if last !== transfer {
            members[transfer.connectingIndex] = last
            last.connectingIndex = transfer.connectingIndex
        }
        transfer.connectingIndex = -1
        if members.isEmpty { due = .never }
    }

    /// Those to be run, where it is time.
    mutating func late(at now: LoopInstant) -> [ActiveTransfer] {
        guard due <= now else { return [] }
        due = now.advanced(byNanoseconds: Self.interval)
        return members.filter { $0.connectingSince.advanced(byNanoseconds: Self.interval) <= now }
    }
}
