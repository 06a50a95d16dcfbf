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

    /// A task that waits until certain requests have ended.
    private final class Waiter {
        let ended = OneShot<Void>()
        var missing: Int

        init(missing: Int) { self.missing = missing }
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
        for waiter in waiting { waiter.missing -= 1 }
        return waiting.filter { $0.missing == 0 }.map(\.ended)
    }

    /// Is resolved when those of the requests that run have ended; nil if none does.
    mutating func wait(for requests: [Request]) -> OneShot<Void>? {
        let missing = Set(byTask.values).intersection(requests)
        guard !missing.isEmpty else { return nil }
        let waiter = Waiter(missing: missing.count)
        for request in missing { waiters[RequestKey(request), default: []].append(waiter) }
        return waiter.ended
    }

    /// Forgets a waiter whose task was cancelled.
    mutating func stopWaiting(for ended: OneShot<Void>) {
        waiters = waiters.compactMapValues { waiting in
            let others = waiting.filter { $0.ended !== ended }
            return others.isEmpty ? nil : others
        }
    }
}
