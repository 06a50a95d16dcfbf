internal import Dispatch

/// Events on their way to monitors' queues, and the hops that bring them there.
///
/// What concerns every lane stands once, in `open`, until a lane takes it: then it becomes a batch that all lanes share.
/// What concerns one lane is kept for it alone, so that a queue that stands still keeps no bodies of others.
struct MonitorBacklog {
    struct Entry {
        let event: MonitorHub.Event
        /// 0 for events of which a try has only so many.
        var cost = 0
        var dear: MonitorHub.Dear?
        /// Which of the events it is that every request has; empty for others.
        var usual: UsualEvents = []
    }

    /// Copies for several lanes share their entries.
    struct Batch {
        fileprivate(set) var entries: [Entry]
        fileprivate let isShared: Bool
    }

    /// When a lane's queue is asked to take what waits.
    enum Hop {
        case now
        case later(DispatchTime)
    }

    private var open: [Entry] = []
    private var lanes: [Lane]

    /// `monitors`: how many each lane has.
    init(monitors: [Int]) { lanes = monitors.map { Lane(monitors: $0) } }

    subscript(lane: Int) -> Lane {
        get { lanes[lane] }
        _modify { yield &lanes[lane] }
    }

    /// An event for every lane; the hops that it needs.
    mutating func add(
        _ event: @escaping MonitorHub.Event,
        _ usual: UsualEvents = [],
        isLeading: Bool,
        at now: @autoclosure () -> DispatchTime = .now()
    ) -> [(lane: Int, hop: Hop)] {
        open.append(Entry(event: event, usual: usual))
        var hops: [(lane: Int, hop: Hop)] = []
        for lane in lanes.indices {
            if let hop = lanes[lane].nextHop(isLeading: isLeading, at: now()) { hops.append((lane: lane, hop: hop)) }
        }
        return hops
    }

    /// The hops that events need which wait for others: several last ones may have waited for each other, and nothing
    /// follows when no request runs.
    mutating func allLeft() -> [(lane: Int, hop: Hop)] {
        var hops: [(lane: Int, hop: Hop)] = []
        for lane in lanes.indices where !open.isEmpty || !lanes[lane].waiting.isEmpty {
            if let hop = lanes[lane].nextHop(isLeading: false, at: .now()) { hops.append((lane: lane, hop: hop)) }
        }
        return hops
    }

    /// A lane's monitors have had the first event of this kind. Whether it turns out that no lane does anything with them.
    mutating func learned(_ usual: UsualEvents, isDeaf: Bool, by lane: Int) -> Bool {
        lanes[lane].known.insert(usual)
        guard isDeaf else { return false }
        lanes[lane].unheard.insert(usual)
        return lanes.allSatisfy { $0.unheard.isSuperset(of: usual) }
    }

    /// An event for one lane, if that has room for it.
    mutating func add(_ entry: Entry, to lane: Int, isLeading: Bool) -> Hop? {
        if entry.cost > 0, lanes[lane].cost + entry.cost > MonitorHub.backlogLimit { return nil }
        close()
        lanes[lane].add(entry)
        return lanes[lane].nextHop(isLeading: isLeading, at: .now())
    }

    mutating func takeAll(for lane: Int, at now: DispatchTime = .now()) -> [Batch] {
        close()
        return lanes[lane].takeAll(at: now)
    }

    private mutating func close() {
        guard !open.isEmpty else { return }
        let batch = Batch(entries: exchange(&open, with: []), isShared: true)
        for lane in lanes.indices { lanes[lane].waiting.append(batch) }
    }

    struct Lane {
        fileprivate var waiting: [Batch] = []
        /// What the waiting entries cost together.
        var cost = 0
        /// A hop is on its way.
        var isHopping = false
        /// A hop comes in a moment.
        var isHopSet = false
        /// Of which usual events it has had one.
        fileprivate(set) var known: UsualEvents = []
        /// Those of them that none of its monitors did anything with.
        fileprivate var unheard: UsualEvents = []
        private var delivered: DispatchTime?
        private var heads: Listeners
        private var bodies: Listeners

        init(monitors: Int) { (heads, bodies) = (Listeners(count: monitors), Listeners(count: monitors)) }

        func wants(_ dear: MonitorHub.Dear) -> Bool { self[dear].isAny }

        subscript(dear: MonitorHub.Dear) -> Listeners {
            get {
                switch dear {
                case .head: heads
                case .body: bodies
                }
            }
            set {
                switch dear {
                case .head: heads = newValue
                case .body: bodies = newValue
                }
            }
        }

        fileprivate mutating func add(_ entry: Entry) {
            cost += entry.cost
            if let last = waiting.last, !last.isShared {
                waiting[waiting.count - 1].entries.append(entry)
            } else {
                waiting.append(Batch(entries: [entry], isShared: false))
            }
        }

        fileprivate mutating func takeAll(at now: DispatchTime) -> [Batch] {
            if !waiting.isEmpty { delivered = now }
            return exchange(&waiting, with: [])
        }

        /// The hop that what was appended needs, beside those on their way.
        fileprivate mutating func nextHop(isLeading: Bool, at now: @autoclosure () -> DispatchTime) -> Hop? {
            if isHopping || (isLeading && isHopSet) { return nil }
            if isLeading, let time = delivered.map({ $0 + MonitorHub.longestWait }), time > now() {
                isHopSet = true
                return .later(time)
            }
            isHopping = true
            return .now
        }
    }

    /// Which monitors want what is dear, as far as is known.
    struct Listeners {
        private(set) var each: [Bool]
        private(set) var isAny: Bool

        init(count: Int) { (each, isAny) = (Array(repeating: true, count: count), count > 0) }

        mutating func lost(_ index: Int) {
            each[index] = false
            isAny = each.contains(true)
        }
    }
}
