internal import CurlewLocks

/// Requests that their session knows of although they have not joined its registry: those with handlers that nobody
/// has started, so that their handlers are called at the latest when the session goes, and those whose run was
/// started in a task that has yet to come so far.
final class RequestShelf: Sendable {
    private let requests = Lock<[ObjectIdentifier: Request]>([:])

    func put(_ request: Request) { requests.withLock { $0[ObjectIdentifier(request)] = request } }

    func take(_ request: Request) { _ = requests.withLock { $0.removeValue(forKey: ObjectIdentifier(request)) } }

    var all: [Request] { requests.withLock { Array($0.values) } }

    func empty() -> [Request] {
        requests.withLock { requests in
            defer { requests = [:] }
            return Array(requests.values)
        }
    }
}
