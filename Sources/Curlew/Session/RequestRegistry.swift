internal import CurlewCore

/// The running requests of a session, and the tasks that wait for their end. Protected by the session's lock.
struct RequestRegistry {
    var lifecycle = SessionStateMachine()
    /// The running requests by the identifier of their current exchange.
    private var byTask = TaskTable<Request>()
    private var lastIdentifier: UInt64 = 0
    /// The waiters of each request. The end of a request updates only its waiters.
    private var waiters: [RequestKey: [Waiter]] = [:]
    /// The number of waits that each request's own code is in. The request cannot end before they do.
    private var codeWaits: [RequestKey: Int] = [:]

    /// A task that waits until certain requests have ended.
    private final class Waiter {
        let ended = OneShot<Void>()
        var missing: Int
        /// Whether the wait leaves out the requests whose own code waits.
        let isUserCode: Bool

        init(missing: Int, isUserCode: Bool) { (self.missing, self.isUserCode) = (missing, isUserCode) }
    }

    var activeRequests: [Request] { byTask.values }
    var hasWaiters: Bool { !waiters.isEmpty }

    subscript(task: TaskIdentifier) -> Request? { byTask[task] }

    /// Registers a request whose run begins, unless the session refuses it.
    mutating func join(_ request: Request) throws(CurlewError) -> TaskIdentifier {
        guard lifecycle.takesRequests else { throw .sessionInvalidated() }
        return name(request)
    }

    mutating func nextTask(of request: Request, after last: TaskIdentifier) -> TaskIdentifier {
        byTask.remove(last)
        return name(request)
    }

    private mutating func name(_ request: Request) -> TaskIdentifier {
        lastIdentifier += 1
        let identifier = TaskIdentifier(rawValue: lastIdentifier)
        byTask.insert(request, for: identifier)
        return identifier
    }

    /// Removes a request. Returns the waits that this completes, to be resolved without the lock.
    mutating func leave(_ request: Request, last: TaskIdentifier) -> [OneShot<Void>] {
        byTask.remove(last)
        guard hasWaiters, let waiting = waiters.removeValue(forKey: RequestKey(request)) else { return [] }
        return Self.released(waiting)
    }

    private static func released(_ waiting: [Waiter]) -> [OneShot<Void>] {
        for waiter in waiting { waiter.missing -= 1 }
        return waiting.filter { $0.missing == 0 }.map(\.ended)
    }

    /// Returns those of `requests` that are not registered.
    func missing(of requests: [Request]) -> [Request] {
        guard !requests.isEmpty else { return [] }
        let registered = Set(byTask.values)
        return requests.filter { !registered.contains($0) }
    }

    /// Returns an event that is resolved when those of `requests` that are running have ended, or `nil` if none is
    /// running. User code does not wait for requests whose own code waits.
    mutating func wait(for requests: [Request], isUserCode: Bool) -> OneShot<Void>? {
        var missing = Set(byTask.values).intersection(requests)
        if isUserCode, !codeWaits.isEmpty { missing = missing.filter { codeWaits[RequestKey($0)] == nil } }
        guard !missing.isEmpty else { return nil }
        let waiter = Waiter(missing: missing.count, isUserCode: isUserCode)
        for request in missing { waiters[RequestKey(request), default: []].append(waiter) }
        return waiter.ended
    }

    /// Called when the request's own code begins to wait. Returns the waits of user code that this completes, to be
    /// resolved without the lock.
    mutating func codeBeginsToWait(of request: Request) -> [OneShot<Void>] {
        let key = RequestKey(request)
        codeWaits[key, default: 0] += 1
        guard let waiting = waiters[key] else { return [] }
        let others = waiting.filter { !$0.isUserCode }
        waiters[key] = others.isEmpty ? nil : others
        return Self.released(waiting.filter(\.isUserCode))
    }

    mutating func codeStopsWaiting(of request: Request) {
        let key = RequestKey(request)
        let count = (codeWaits[key] ?? 0) - 1
        codeWaits[key] = count > 0 ? count : nil
    }

    /// Removes a waiter whose task was cancelled.
    mutating func stopWaiting(for ended: OneShot<Void>) {
        waiters = waiters.compactMapValues { waiting in
            let others = waiting.filter { $0.ended !== ended }
            return others.isEmpty ? nil : others
        }
    }
}

/// A hash table of the exchanges in flight, by identifier.
///
/// The identifiers are consecutive numbers that the session chooses, so one multiplication spreads them. The table uses
/// open addressing. Removing an entry moves later entries back, so that no marker of the removal remains.
struct TaskTable<Value: Sendable>: Sendable {
    /// The key is 0 in a free slot: identifiers begin at 1.
    private typealias Slot = (key: UInt64, value: Value?)

    private var slots: [Slot]
    /// The binary logarithm of the number of slots.
    private var bits: UInt64 = 4
    private(set) var count = 0

    init() { slots = Array(repeating: (0, nil), count: 16) }

    var values: [Value] { slots.compactMap(\.value) }

    subscript(task: TaskIdentifier) -> Value? { slots[position(of: task.rawValue)].value }

    mutating func insert(_ value: Value, for task: TaskIdentifier) {
        // At most half of the slots are used, so that entries are close to their home.
        if count * 2 >= slots.count { grow() }
        let position = position(of: task.rawValue)
        if slots[position].key == 0 { count += 1 }
        slots[position] = (task.rawValue, value)
    }

    mutating func remove(_ task: TaskIdentifier) {
        var hole = position(of: task.rawValue)
        guard slots[hole].key != 0 else { return }
        count -= 1
        var next = following(hole)
        while slots[next].key != 0 {
            // An entry whose home is after the hole stays: a search for it begins after the hole.
            let mask = slots.count - 1
            if (next &- home(of: slots[next].key)) & mask >= (next &- hole) & mask {
                slots.swapAt(hole, next)
                hole = next
            }
            next = following(next)
        }
        slots[hole] = (0, nil)
    }

    private mutating func grow() {
        let old = slots
        bits += 1
        slots = Array(repeating: (0, nil), count: old.count * 2)
        for slot in old where slot.key != 0 { slots[position(of: slot.key)] = slot }
    }

    /// Returns the slot of the key, or the free slot for it.
    private func position(of key: UInt64) -> Int {
        var position = home(of: key)
        while slots[position].key != key, slots[position].key != 0 { position = following(position) }
        return position
    }

    private func home(of key: UInt64) -> Int { Int(truncatingIfNeeded: (key &* 0x9E37_79B9_7F4A_7C15) >> (64 - bits)) }

    private func following(_ position: Int) -> Int { (position + 1) & (slots.count - 1) }
}
