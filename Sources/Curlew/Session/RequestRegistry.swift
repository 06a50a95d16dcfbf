internal import CurlewCore

/// Which requests run, under which attempt's name. The session's isolated state.
struct RequestRegistry {
    var lifecycle = SessionStateMachine()
    /// Started before the session began to drain, and not here yet.
    private var expected: Set<ObjectIdentifier> = []
    /// By the name of the attempt in flight: each request that runs has one.
    private var byTask = TaskTable<Request>()
    private var lastIdentifier: UInt64 = 0
    private var waiters: [Int: Waiter] = [:]
    /// Who waits for a request: its end looks at those alone, and not at all that they wait for.
    private var waitersOf: [ObjectIdentifier: [Int]] = [:]
    private var lastWaiter = 0

    /// Somebody who waits until certain requests have ended.
    private struct Waiter {
        var missing: Int
        let continuation: CheckedContinuation<Void, Never>
    }

    var activeRequests: [Request] { byTask.values }

    subscript(task: TaskIdentifier) -> Request? { byTask[task] }

    /// From now on only these may join.
    mutating func drainBegan(expecting requests: [Request]) {
        lifecycle.drainBegan()
        expected.formUnion(requests.map { ObjectIdentifier($0) })
    }

    mutating func join(_ request: Request, as early: TaskIdentifier?) throws(CurlewError) -> TaskIdentifier {
        guard takes(request) else {
            ended(request)
            throw .sessionInvalidated(error: nil)
        }
        guard let early else { return name(request) }
        byTask.insert(request, for: early)
        return early
    }

    private mutating func takes(_ request: Request) -> Bool {
        let isExpected = !expected.isEmpty && expected.remove(ObjectIdentifier(request)) != nil
        return lifecycle.takesRequests || (isExpected && !lifecycle.isClosed)
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

    mutating func leave(_ request: Request, last: TaskIdentifier) {
        byTask.remove(last)
        ended(request)
    }

    private mutating func ended(_ request: Request) {
        guard !waitersOf.isEmpty, let numbers = waitersOf.removeValue(forKey: ObjectIdentifier(request)) else { return }
        for number in numbers {
            waiters[number]?.missing -= 1
            guard waiters[number]?.missing == 0 else { continue }
            waiters.removeValue(forKey: number)?.continuation.resume()
        }
    }

    /// Resumes the continuation when these have ended; false where there are none to wait for.
    mutating func wait(for requests: Set<Request>, with continuation: CheckedContinuation<Void, Never>) -> Bool {
        guard !requests.isEmpty else { return false }
        lastWaiter += 1
        waiters[lastWaiter] = Waiter(missing: requests.count, continuation: continuation)
        for request in requests { waitersOf[ObjectIdentifier(request), default: []].append(lastWaiter) }
        return true
    }
}
