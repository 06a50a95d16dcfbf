internal import CurlewLocks

/// Requests with handlers that were not started. The session holds them, so that their handlers are called when it is
/// released at the latest.
final class RequestShelf: Sendable {
    private let requests = Lock<Set<Request>>([])

    func put(_ request: Request) { _ = requests.withLock { $0.update(with: request) } }

    func take(_ request: Request) { _ = requests.withLock { $0.remove(request) } }

    var all: [Request] { requests.withLock { Array($0) } }

    func empty() -> [Request] { Array(requests.withLock { exchange(&$0, with: []) }) }
}
