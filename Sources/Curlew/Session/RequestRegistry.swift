internal import CurlewCore
internal import CurlewFailures

/// Which requests run, under which attempt's name, and who waits for their end. Behind its session's lock.
struct RequestRegistry {
    var lifecycle = SessionStateMachine()
    /// By the name of the attempt in flight: each request that runs has one.
    private var byTask = TaskTable<Request>()
    private var lastIdentifier: UInt64 = 0
    private var waiters: [Int: Waiter] = [:]
    /// Who waits for a request: its end looks at those alone, and not at all that they wait for.
    private var waitersOf: [ObjectIdentifier: [Int]] = [:]
    private var lastWaiter = 0

    /// A task that waits until certain requests have ended.
    private struct Waiter {
        var missing: Int
        let continuation: CheckedContinuation<Void, Never>
    }

    var activeRequests: [Request] { byTask.values }

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

    /// Waiters that have nothing left to wait for: to be resumed without the lock.
    mutating func leave(_ request: Request, last: TaskIdentifier) -> [CheckedContinuation<Void, Never>] {
        byTask.remove(last)
        guard !waitersOf.isEmpty, let numbers = waitersOf.removeValue(forKey: ObjectIdentifier(request)) else {
            return []
        }
        var released: [CheckedContinuation<Void, Never>] = []
        for number in numbers {
            waiters[number]?.missing -= 1
            guard waiters[number]?.missing == 0, let waiter = waiters.removeValue(forKey: number) else { continue }
            released.append(waiter.continuation)
        }
        return released
    }

    /// Keeps the continuation until those of them that run have ended; false where none does.
    mutating func wait(for requests: [Request], with continuation: CheckedContinuation<Void, Never>) -> Bool {
        let missing = Set(byTask.values).intersection(requests)
        guard !missing.isEmpty else { return false }
        lastWaiter += 1
        waiters[lastWaiter] = Waiter(missing: missing.count, continuation: continuation)
        for request in missing { waitersOf[ObjectIdentifier(request), default: []].append(lastWaiter) }
        return true
    }
}
