internal import CurlewLocks

/// Knows the calls of user code that the current task is part of, so that user code that waits causes no deadlock.
///
/// A request ends after the calls of its adapters, retriers and handlers, and a refresh of credentials after its own
/// requests. Without care, two waits inside such calls would last forever:
///
/// - The adapters of two requests call `Session.drain()`, which waits for all requests: each waits for the end of the
///   other. So `waiting` marks the request whose code waits, and waits inside of user code leave out marked requests.
/// - Each of two refreshes sends a request that waits for the other refresh. So `waiting(forRefreshOf:)` does not wait
///   if that would close a cycle.
///
/// The calls around a call count too. A retrier of one request may await another request, whose adapter then waits: the
/// first request cannot end before that adapter does.
enum UserCode {
    enum Caller: Sendable {
        case request(Request)
        /// Work that other calls wait for: the refresh of an interceptor's credential, the exchange of an OAuth 2
        /// refresh token, or a call of `onChange`. Identified by the interceptor, the flight or the `OAuth2Changes`.
        case refresh(of: ObjectIdentifier)
        /// A revalidation in the background, which the end of a session waits for.
        case revalidation
    }

    /// A call: a lock with its caller, or `nil` once the call has returned. Tasks that the call has started inherit the
    /// lock and may outlive the call.
    typealias Call = Lock<Caller?>

    /// The calls around the task, the outermost first. Child tasks and `Task { }` inherit them.
    @TaskLocal static var calls: [Call] = []

    /// Runs user code on behalf of the request.
    static func call<T>(
        for request: Request,
        _ work: () async throws -> T
    ) async rethrows -> T {
        try await call(by: .request(request), work)
    }

    /// Runs user code on behalf of the caller.
    static func call<T>(
        by caller: Caller,
        _ work: () async throws -> T
    ) async rethrows -> T {
        let call = Call(caller)
        defer { _ = call.withLock { exchange(&$0, with: nil) } }
        // Drops the calls that have returned. Tasks that start each other from calls would otherwise collect them.
        var open = calls.filter { $0.withLock { $0 != nil } }
        open.append(call)
        return try await $calls.withValue(open) { try await work() }
    }

    /// Runs work that no call of user code waits for.
    static func outside(_ work: () async -> Void) async { await $calls.withValue([]) { await work() } }

    /// Runs a wait for all requests of a session, or for a refresh. Until it ends, the waits of other calls leave out
    /// the requests whose code the current task runs.
    static func waiting<T>(
        _ wait: () async -> T
    ) async -> T {
        let requests = requests
        for request in requests {
            let released = request.context.registry.withLock { $0.codeBeginsToWait(of: request) }
            for ended in released { ended.resolve(()) }
        }
        defer {
            for request in requests { request.context.registry.withLock { $0.codeStopsWaiting(of: request) } }
        }
        return await wait()
    }

    /// Runs a wait for the refresh of this object. Returns `nil` without waiting if that refresh waits, directly or
    /// through other refreshes, for one that the current task is part of: neither would end.
    static func waiting<T>(
        forRefreshOf awaited: ObjectIdentifier,
        _ wait: () async -> T
    ) async -> T? {
        let refreshes = calls.filter { $0.refresh != nil }
        guard let number = refreshWaits.withLock({ $0.begin(inside: refreshes, for: awaited) }) else { return nil }
        defer { refreshWaits.withLock { $0.end(number) } }
        return await waiting(wait)
    }

    private static let refreshWaits = Lock(RefreshWaits())

    // MARK: The calls around the current task

    /// Whether the current task runs inside of a call.
    static var isInside: Bool { !callers.isEmpty }

    /// Whether the current task runs inside of a revalidation in the background.
    static var isInRevalidation: Bool {
        callers.contains { if case .revalidation = $0 { true } else { false } }
    }

    /// Whether the current task runs code for a request with which an OAuth 2 client asks for a token. Only the
    /// innermost call is considered: requests that the code of a token request sends are not token requests.
    static var isForTokenRequest: Bool {
        guard case .request(let request)? = callers.last else { return false }
        return request.record.withLock { $0.extras?.options.isTokenRequest == true }
    }

    /// Whether the current task runs inside of the refresh of this object.
    static func isInRefresh(of object: ObjectIdentifier) -> Bool {
        callers.contains { if case .refresh(object) = $0 { true } else { false } }
    }

    private static var requests: [Request] {
        callers.compactMap { if case .request(let request) = $0 { request } else { nil } }
    }

    /// The callers whose calls have not returned.
    private static var callers: [Caller] { calls.compactMap { $0.withLock { $0 } } }
}

/// The waits of refreshes for other refreshes.
private struct RefreshWaits {
    /// The waits by their numbers, each with the calls around it.
    private var waits: [Int: (calls: [UserCode.Call], awaited: ObjectIdentifier)] = [:]
    private var last = 0

    /// Adds a wait, and returns its number. Returns `nil`, and adds none, if it would close a cycle.
    mutating func begin(inside calls: [UserCode.Call], for awaited: ObjectIdentifier) -> Int? {
        if reaches(Set(calls.compactMap(\.refresh)), from: awaited) { return nil }
        last += 1
        if !calls.isEmpty { waits[last] = (calls, awaited) }
        return last
    }

    mutating func end(_ number: Int) { waits[number] = nil }

    private func reaches(_ refreshes: Set<ObjectIdentifier>, from start: ObjectIdentifier) -> Bool {
        // Waits of calls that have returned are ignored: a task that a refresh has started may wait longer than the
        // refresh, and the interceptor's next refresh does not wait for that task.
        let open = waits.values.flatMap { wait in
            wait.calls.compactMap(\.refresh).map { (waiting: $0, awaited: wait.awaited) }
        }
        var seen: Set = [start]
        var rest = [start]
        while let next = rest.popLast() {
            if refreshes.contains(next) { return true }
            for wait in open where wait.waiting == next && seen.insert(wait.awaited).inserted {
                rest.append(wait.awaited)
            }
        }
        return false
    }
}

extension UserCode.Call {
    /// The object whose refresh the call is, until the call returns.
    fileprivate var refresh: ObjectIdentifier? {
        withLock { if case .refresh(let object) = $0 { object } else { nil } }
    }
}
