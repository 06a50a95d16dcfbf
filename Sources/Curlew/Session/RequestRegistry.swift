internal import CurlewCore
internal import CurlewFailures

/// Which requests run, under which attempt's name, and who waits for their end. Behind its session's lock.
struct RequestRegistry {
    var lifecycle = SessionStateMachine()
    /// By the name of the attempt in flight: each request that runs has one.
    private var byTask = TaskTable<Request>()
    private var lastIdentifier: UInt64 = 0
    /// Who waits for a request: its end looks at those alone, and not at all that they wait for.
    private var waiters: [RequestKey: [Waiter]] = [:]
    /// The waits that each request's own code is in: the request cannot end before they do.
    private var codeWaits: [RequestKey: Int] = [:]

    /// A task that waits until certain requests have ended.
    private final class Waiter {
        let ended = OneShot<Void>()
        var missing: Int
        /// It leaves out the requests whose own code waits.
        let isUserCode: Bool

        init(missing: Int, isUserCode: Bool) { (self.missing, self.isUserCode) = (missing, isUserCode) }
    }

    var activeRequests: [Request] { byTask.values }
    var hasWaiters: Bool { !waiters.isEmpty }

    subscript(task: TaskIdentifier) -> Request? { byTask[task] }

    /// A run begins: whether the session takes it is decided in the same step.
    mutating func join(_ request: Request, as early: TaskIdentifier?) throws(CurlewError) -> TaskIdentifier {
        guard lifecycle.takesRequests else { throw .sessionInvalidated(error: nil) }
        guard let early else { return name(request) }
        byTask.insert(request, for: early)
        return early
    }

    /// A name for an exchange that has yet to begin.
    mutating func reserve() throws(CurlewError) -> TaskIdentifier {
        guard lifecycle.takesRequests else { throw .sessionInvalidated(error: nil) }
        lastIdentifier += 1
        return TaskIdentifier(rawValue: lastIdentifier)
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

    /// Waiters that have nothing left to wait for: to be told without the lock.
    mutating func leave(_ request: Request, last: TaskIdentifier) -> [OneShot<Void>] {
        byTask.remove(last)
        guard hasWaiters, let waiting = waiters.removeValue(forKey: RequestKey(request)) else { return [] }
        return Self.released(waiting)
    }

    private static func released(_ waiting: [Waiter]) -> [OneShot<Void>] {
        for waiter in waiting { waiter.missing -= 1 }
        return waiting.filter { $0.missing == 0 }.map(\.ended)
    }

    /// Is resolved when those of the requests that run have ended; nil if none does. User code does not wait for requests whose
    /// own code waits.
    mutating func wait(for requests: [Request], isUserCode: Bool) -> OneShot<Void>? {
        var missing = Set(byTask.values).intersection(requests)
        if isUserCode, !codeWaits.isEmpty { missing = missing.filter { codeWaits[RequestKey($0)] == nil } }
        guard !missing.isEmpty else { return nil }
        let waiter = Waiter(missing: missing.count, isUserCode: isUserCode)
        for request in missing { waiters[RequestKey(request), default: []].append(waiter) }
        return waiter.ended
    }

    /// The request's own code begins to wait. Returns the waits of user code that have nothing left to wait for: to be told
    /// without the lock.
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

    /// Forgets a waiter whose task was cancelled.
    mutating func stopWaiting(for ended: OneShot<Void>) {
        waiters = waiters.compactMapValues { waiting in
            let others = waiting.filter { $0.ended !== ended }
            return others.isEmpty ? nil : others
        }
    }
}
