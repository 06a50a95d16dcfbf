internal import CurlewLocks

/// Requests with handlers that were not started: their session knows of them, so that their handlers are called at
/// the latest when it goes.
final class RequestShelf: Sendable {
    private let requests = Lock<[RequestKey: Request]>([:])

    func put(_ request: Request) { requests.withLock { $0[RequestKey(request)] = request } }

    func take(_ request: Request) { _ = requests.withLock { $0.removeValue(forKey: RequestKey(request)) } }

    var all: [Request] { requests.withLock { Array($0.values) } }

    func empty() -> [Request] {
        requests.withLock { requests in
            defer { requests = [:] }
            return Array(requests.values)
        }
    }
}
