internal import CurlewCore

/// Which requests run, under which attempt's name. The session's isolated state.
struct RequestRegistry {
    var lifecycle = SessionStateMachine()
    private var active: [ObjectIdentifier: Request] = [:]
    private var byTask: [TaskIdentifier: Request] = [:]
    private var lastIdentifier: UInt64 = 0
    private var waiters: [Waiter] = []

    /// Somebody who waits until certain requests have ended.
    private struct Waiter {
        var missing: Set<ObjectIdentifier>
        let continuation: CheckedContinuation<Void, Never>
    }

    var activeRequests: [Request] { Array(active.values) }

    subscript(task: TaskIdentifier) -> Request? { byTask[task] }

    mutating func join(_ request: Request) throws(CurlewError) -> TaskIdentifier {
        guard lifecycle.takesRequests else { throw .sessionInvalidated(error: nil) }
        active[ObjectIdentifier(request)] = request
        return name(request)
    }

    mutating func nextTask(of request: Request, after last: TaskIdentifier) -> TaskIdentifier {
        byTask[last] = nil
        return name(request)
    }

    private mutating func name(_ request: Request) -> TaskIdentifier {
        lastIdentifier += 1
        let identifier = TaskIdentifier(rawValue: lastIdentifier)
        byTask[identifier] = request
        return identifier
    }

    mutating func leave(_ request: Request, last: TaskIdentifier) {
        let key = ObjectIdentifier(request)
        active[key] = nil
        byTask[last] = nil
        guard !waiters.isEmpty else { return }
        waiters = waiters.compactMap { waiter in
            var waiter = waiter
            waiter.missing.remove(key)
            guard waiter.missing.isEmpty else { return waiter }
            waiter.continuation.resume()
            return nil
        }
    }

    /// Resumes the continuation when the requests that are active now have ended; false if there is none.
    mutating func wait(with continuation: CheckedContinuation<Void, Never>) -> Bool {
        guard !active.isEmpty else { return false }
        waiters.append(Waiter(missing: Set(active.keys), continuation: continuation))
        return true
    }
}
