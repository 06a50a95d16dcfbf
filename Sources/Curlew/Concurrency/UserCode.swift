internal import CurlewLocks

/// A call of a user's code on behalf of a request: an adapter, a retrier, a handler that is awaited.
///
/// The request cannot end before the call does. So the call itself must never wait for the request's end:
/// `Session.drain()` and its siblings leave out every request of which `isCalled(for:)` is true.
///
/// The calls around a call count too. A retrier of one request may await another request, whose adapter then waits: the first
/// request cannot end before that adapter does.
final class UserCode: Sendable {
    /// The call that the task is part of. Child tasks and `Task { }` inherit it.
    @TaskLocal private static var current: UserCode?

    private let request: RequestKey
    private let outer: UserCode?
    /// A task that the call starts keeps this object for its own life, but is inside only until the call returns.
    private let isOpen = Lock(true)

    private init(of request: Request, within outer: UserCode?) {
        self.request = RequestKey(request)
        self.outer = outer
    }

    /// Runs a user's code on behalf of the request.
    static func call<T>(
        for request: Request,
        isolation: isolated (any Actor)? = #isolation,
        _ work: () async throws -> T
    ) async rethrows -> T {
        let call = UserCode(of: request, within: current)
        defer { call.isOpen.withLock { $0 = false } }
        return try await $current.withValue(call) { try await work() }
    }

    /// Whether the current task runs inside of a call for this request.
    static func isCalled(for request: Request) -> Bool {
        var next = current
        while let call = next {
            if call.request == RequestKey(request), call.isOpen.withLock({ $0 }) { return true }
            next = call.outer
        }
        return false
    }
}
