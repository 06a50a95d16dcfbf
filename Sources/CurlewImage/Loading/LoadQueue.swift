/// The order in which waiting loads are started.
public enum DownloadPrioritization: Sendable, Hashable {
    /// The load that was requested first.
    case fifo
    /// The load that was requested last, for example because the user is looking at it.
    case lifo
}

/// Decides which loads run and who receives their images. It performs no loads itself.
///
/// A load is identified by a key. Receivers that ask for a key that is waiting or running join its load. A load ends
/// early when its last receiver is removed.
struct LoadQueue<Key: Hashable & Sendable, Receiver> {
    enum Action {
        /// Start this load, unless it has ended or been replaced by the time the action is performed.
        case start(Key, generation: Int)
        /// End this load.
        case cancel(Key)
    }

    /// Identifies a receiver by its load and its number.
    struct Ticket: Hashable, Sendable {
        let key: Key
        let number: Int
    }

    private struct Load {
        var receivers: [(number: Int, receiver: Receiver)]
        var isRunning = false
        /// Distinguishes the load from an earlier one with this key.
        let generation: Int
    }

    let limit: Int
    let prioritization: DownloadPrioritization
    private var loads: [Key: Load] = [:]
    /// The waiting loads. The next one is the last for LIFO and the first for FIFO. Cancelled ones stay until `next()`
    /// reaches them.
    private var waiting: [(key: Key, generation: Int)] = []
    private var firstWaiting = 0
    private var lastNumber = 0
    private(set) var activeCount = 0

    init(limit: Int, prioritization: DownloadPrioritization) {
        self.limit = max(1, limit)
        self.prioritization = prioritization
    }

    /// The number of loads that have not begun.
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

    /// Removes a receiver. Returns `nil` if it has been served. Removing the last receiver ends the load.
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

    /// Ends a load and returns its receivers.
    mutating func finish(_ key: Key, generation: Int) -> (receivers: [Receiver], actions: [Action]) {
        guard let load = loads[key], load.isRunning, load.generation == generation else { return ([], []) }
        loads[key] = nil
        activeCount -= 1
        return (load.receivers.map(\.receiver), fill())
    }

    /// The receivers of this load, or none if it is not running.
    func receivers(of key: Key, generation: Int) -> [(ticket: Ticket, receiver: Receiver)] {
        guard let load = loads[key], load.isRunning, load.generation == generation else { return [] }
        return load.receivers.map { (Ticket(key: key, number: $0.number), $0.receiver) }
    }

    /// Whether this load is running. Another load with its key does not count.
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
                // Removes the used entries at the front occasionally, because each removal copies the rest.
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
