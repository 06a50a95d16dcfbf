internal import CurlewLocks

/// A call of a user's code: an adapter, a retrier or a handler of a request, a refresh of credentials.
///
/// A request cannot end before the calls for it do. So such a call must never wait for the request's end. While a call waits in
/// `Session.drain()` or one of its siblings, or for a refresh, `waitBegins()` notes the request in its session's registry, and
/// waits that are made inside of a call leave out every request that is noted. Otherwise two requests whose code ends the
/// session would wait for each other for ever.
///
/// The calls around a call count too. A retrier of one request may await another request, whose adapter then waits: the first
/// request cannot end before that adapter does.
final class UserCode: Sendable {
    enum Caller: Sendable {
        case request(Request)
        /// A refresh of credentials, which requests wait for.
        case refresh
        /// A revalidation in the background, which the end of a session waits for.
        case revalidation
    }

    private struct State: Sendable {
        /// `nil` once the call has returned. A task that the call has started keeps this object for its own life, but is inside
        /// only until then.
        var caller: Caller?
        var outer: UserCode?
    }

    /// The call that the task is part of. Child tasks and `Task { }` inherit it.
    @TaskLocal static var current: UserCode?

    private let state: Lock<State>

    private init(_ caller: Caller) {
        // Calls that have returned are unlinked: tasks that start each other through calls would keep them all.
        let outer = Self.current?.firstOpen
        var next = outer
        while let call = next { next = call.unlinkReturned() }
        state = Lock(State(caller: caller, outer: outer))
    }

    /// Runs a user's code on behalf of the request.
    static func call<T>(
        for request: Request,
        isolation: isolated (any Actor)? = #isolation,
        _ work: () async throws -> T
    ) async rethrows -> T {
        try await call(by: .request(request), work)
    }

    /// Runs a user's code on behalf of the caller.
    static func call<T>(
        by caller: Caller,
        isolation: isolated (any Actor)? = #isolation,
        _ work: () async throws -> T
    ) async rethrows -> T {
        let call = UserCode(caller)
        defer { _ = call.state.withLock { exchange(&$0.caller, with: nil) } }
        return try await $current.withValue(call) { try await work() }
    }

    /// Runs work that no call waits for.
    static func outside(_ work: () async -> Void) async { await $current.withValue(nil) { await work() } }

    // MARK: The calls around the current task

    /// Whether the current task runs inside of a call.
    static var isInside: Bool { current?.firstOpen != nil }

    /// Whether the current task runs inside of a revalidation in the background.
    static var isInRevalidation: Bool {
        callers.contains { if case .revalidation = $0 { true } else { false } }
    }

    /// Whether the current task runs inside of a call for this request.
    static func isCalled(for request: Request) -> Bool { requests.contains { RequestKey($0) == RequestKey(request) } }

    private static var requests: [Request] {
        callers.compactMap { if case .request(let request) = $0 { request } else { nil } }
    }

    /// Those whose calls have not returned, the innermost first.
    private static var callers: [Caller] {
        var callers: [Caller] = []
        var next = current
        while let call = next {
            let (caller, outer) = call.state.withLock { ($0.caller, $0.outer) }
            if let caller { callers.append(caller) }
            next = outer
        }
        return callers
    }

    private var firstOpen: UserCode? {
        var next: UserCode? = self
        while let call = next {
            let (isOpen, outer) = call.state.withLock { ($0.caller != nil, $0.outer) }
            if isOpen { return call }
            next = outer
        }
        return nil
    }

    /// Returns the next call around this one that has not returned.
    private func unlinkReturned() -> UserCode? {
        let open = state.withLock { $0.outer }?.firstOpen
        _ = state.withLock { exchange(&$0.outer, with: open) }
        return open
    }

    // MARK: Waiting

    /// The current task begins to wait for requests or for a refresh. Notes the requests whose code it is; `waitEnds` needs them.
    static func waitBegins() -> [Request] {
        let requests = requests
        for request in requests {
            let released = request.context.registry.withLock { $0.codeBeginsToWait(of: request) }
            for ended in released { ended.resolve(()) }
        }
        return requests
    }

    static func waitEnds(of requests: [Request]) {
        for request in requests { request.context.registry.withLock { $0.codeStopsWaiting(of: request) } }
    }
}
