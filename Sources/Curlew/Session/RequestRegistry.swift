internal import CurlewCore

/// The running requests of a session, and the tasks that wait for their end. Protected by the session's lock.
struct RequestRegistry {
    var lifecycle = SessionLifecycle()
    /// The running requests by the identifier of their current exchange.
    private var byExchangeID: [TaskIdentifier: Request] = [:]
    private var lastIdentifier: UInt64 = 0
    /// The waiters of each request. The end of a request updates only its waiters.
    private var waiters: [RequestKey: [Waiter]] = [:]
    /// The number of waits that each request's own code is in. The request cannot end before they do.
    private var codeWaits: [RequestKey: Int] = [:]

    /// A task that waits until certain requests have ended.
    private final class Waiter {
        let ended = OneShot<Void>()
        /// The number of its requests that have not ended.
        var remaining: Int
        /// Whether the wait leaves out the requests whose own code waits.
        let isUserCode: Bool

        init(for requests: Int, isUserCode: Bool) { (remaining, self.isUserCode) = (requests, isUserCode) }
    }

    var activeRequests: [Request] { Array(byExchangeID.values) }
    var hasWaiters: Bool { !waiters.isEmpty }

    subscript(task: TaskIdentifier) -> Request? { byExchangeID[task] }

    /// Registers a request whose run begins, unless the session refuses it.
    mutating func join(_ request: Request) throws(CurlewError) -> TaskIdentifier {
        guard lifecycle.takesRequests else { throw .sessionInvalidated() }
        return nextExchangeID(of: request, after: nil)
    }

    /// Lists the request under a new identifier, in place of that of its last exchange.
    mutating func nextExchangeID(of request: Request, after last: TaskIdentifier?) -> TaskIdentifier {
        if let last { byExchangeID[last] = nil }
        lastIdentifier += 1
        let identifier = TaskIdentifier(rawValue: lastIdentifier)
        byExchangeID[identifier] = request
        return identifier
    }

    /// Removes a request. Returns the waits that this completes, to be resolved without the lock.
    mutating func leave(_ request: Request, last: TaskIdentifier) -> [OneShot<Void>] {
        byExchangeID[last] = nil
        guard hasWaiters, let waiting = waiters.removeValue(forKey: RequestKey(request)) else { return [] }
        return Self.released(waiting)
    }

    private static func released(_ waiting: [Waiter]) -> [OneShot<Void>] {
        for waiter in waiting { waiter.remaining -= 1 }
        return waiting.filter { $0.remaining == 0 }.map(\.ended)
    }

    /// Returns those of `requests` that are not registered.
    func unregistered(of requests: [Request]) -> [Request] {
        guard !requests.isEmpty else { return [] }
        let registered = Set(byExchangeID.values)
        return requests.filter { !registered.contains($0) }
    }

    /// Returns an event that is resolved when those of `requests` that are running have ended, or `nil` if none is
    /// running. User code does not wait for requests whose own code waits.
    mutating func wait(for requests: [Request], isUserCode: Bool) -> OneShot<Void>? {
        var awaited = Set(byExchangeID.values).intersection(requests)
        if isUserCode, !codeWaits.isEmpty { awaited = awaited.filter { codeWaits[RequestKey($0)] == nil } }
        guard !awaited.isEmpty else { return nil }
        let waiter = Waiter(for: awaited.count, isUserCode: isUserCode)
        for request in awaited { waiters[RequestKey(request), default: []].append(waiter) }
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
