/// Which of two loads that wait comes first.
public enum DownloadPrioritization: Sendable, Hashable {
    /// The one that was asked for first.
    case fifo
    /// The one that was asked for last: what a user looks at now.
    case lifo
}

/// Which loads run and who gets their images, decided without a network.
///
/// A load is known by a key. Receivers that ask for a key that is waiting or running join it; a load ends early when
/// its last receiver leaves.
struct LoadQueue<Key: Hashable & Sendable, Receiver> {
    enum Action {
        /// Begin this load, if it is still this one when that happens.
        case start(Key, generation: Int)
        /// End this load.
        case cancel(Key)
    }

    /// A receiver's place: the load, and its number there.
    struct Ticket: Hashable, Sendable {
        let key: Key
        let number: Int
    }

    private struct Load {
        var receivers: [(number: Int, receiver: Receiver)]
        var isRunning = false
        /// Tells a load from an earlier one of the same key.
        let generation: Int
    }

    let limit: Int
    let prioritization: DownloadPrioritization
    private var loads: [Key: Load] = [:]
    /// Loads that wait, the next last for LIFO and first for FIFO. Those that were cancelled stay until they are met.
    private var waiting: [(key: Key, generation: Int)] = []
    private var firstWaiting = 0
    private var lastNumber = 0
    private(set) var activeCount = 0

    init(limit: Int, prioritization: DownloadPrioritization) {
        self.limit = max(1, limit)
        self.prioritization = prioritization
    }

    /// How many loads have yet to begin.
    var waitingCount: Int { loads.count - activeCount }

    mutating func add(_ receiver: Receiver, for key: Key) -> (ticket: Ticket, actions: [Action]) {
        lastNumber += 1
        let ticket = Ticket(key: key, number: lastNumber)
        if loads[key] != nil {
            loads[key]?.receivers.append((lastNumber, receiver))
            return (ticket, [])
        }
        loads[key] = Load(receivers: [(lastNumber, receiver)], generation: lastNumber)
        waiting.append((key, lastNumber))
        return (ticket, fill())
    }

    /// The receiver leaves; nil where it has been served. The last one takes the load along.
    mutating func remove(_ ticket: Ticket) -> (receiver: Receiver, actions: [Action])? {
        guard var load = loads[ticket.key],
            let index = load.receivers.firstIndex(where: { $0.number == ticket.number })
        else { return nil }
        let receiver = load.receivers.remove(at: index).receiver
        guard load.receivers.isEmpty else {
            loads[ticket.key] = load
            return (receiver, [])
        }
        loads[ticket.key] = nil
        guard load.isRunning else { return (receiver, []) }
        activeCount -= 1
        return (receiver, [.cancel(ticket.key)] + fill())
    }

    /// The load has ended: these receivers get what it brought.
    mutating func finish(_ key: Key, generation: Int) -> (receivers: [Receiver], actions: [Action]) {
        guard let load = loads[key], load.isRunning, load.generation == generation else { return ([], []) }
        loads[key] = nil
        activeCount -= 1
        return (load.receivers.map(\.receiver), fill())
    }

    /// Who waits for this load, if it runs.
    func receivers(of key: Key, generation: Int) -> [(ticket: Ticket, receiver: Receiver)] {
        guard let load = loads[key], load.isRunning, load.generation == generation else { return [] }
        return load.receivers.map { (Ticket(key: key, number: $0.number), $0.receiver) }
    }

    /// Whether this load runs: another of its key may, or none.
    func isRunning(_ key: Key, generation: Int) -> Bool {
        loads[key].map { $0.isRunning && $0.generation == generation } ?? false
    }

    private mutating func fill() -> [Action] {
        var actions: [Action] = []
        while activeCount < limit, let (key, generation) = next() {
            loads[key]?.isRunning = true
            activeCount += 1
            actions.append(.start(key, generation: generation))
        }
        return actions
    }

    private mutating func next() -> (key: Key, generation: Int)? {
        while firstWaiting < waiting.count {
            let candidate: (key: Key, generation: Int)
            switch prioritization {
            case .lifo: candidate = waiting.removeLast()
            case .fifo:
                candidate = waiting[firstWaiting]
                firstWaiting += 1
                // The gap at the front costs a copy now and then, not with every load.
                if firstWaiting > 64, firstWaiting * 2 > waiting.count {
                    waiting.removeFirst(firstWaiting)
                    firstWaiting = 0
                }
            }
            if let load = loads[candidate.key], load.generation == candidate.generation, !load.isRunning {
                return candidate
            }
        }
        waiting.removeAll(keepingCapacity: true)
        firstWaiting = 0
        return nil
    }
}
