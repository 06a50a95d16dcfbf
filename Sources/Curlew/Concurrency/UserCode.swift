internal import CurlewLocks

/// The calls of users' code that the current task is part of: adapters, retriers and handlers of requests, refreshes of
/// credentials.
///
/// A request cannot end before the calls for it do. So such a call must never wait for the request's end. While a call
/// waits in `Session.drain()` or one of its siblings, or for a refresh, `waiting` notes the request in its session's
/// registry, and waits that are made inside of a call leave out every request that is noted. Otherwise two requests
/// whose code ends the session would wait for each other for ever.
///
/// The calls around a call count too. A retrier of one request may await another request, whose adapter then waits: the
/// first request cannot end before that adapter does.
enum UserCode {
    enum Caller: Sendable {
        case request(Request)
        /// A refresh of credentials by this interceptor, which requests wait for.
        case refresh(of: ObjectIdentifier)
        /// A revalidation in the background, which the end of a session waits for.
        case revalidation
    }

    /// The callers of the calls around the task, the outermost first. Child tasks and `Task { }` inherit them. A lock
    /// holds `nil` once its call has returned: a task that the call has started keeps the lock for its own life, but is
    /// inside only until then.
    @TaskLocal static var calls: [Lock<Caller?>] = []

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
        let call = Lock<Caller?>(caller)
        defer { _ = call.withLock { exchange(&$0, with: nil) } }
        // Without the calls that have returned: tasks that start each other through calls would keep them all.
        var open = calls.filter { $0.withLock { $0 != nil } }
        open.append(call)
        return try await $calls.withValue(open) { try await work() }
    }

    /// Runs work that no call waits for.
    static func outside(_ work: () async -> Void) async { await $calls.withValue([]) { await work() } }

    /// Runs a wait for requests or for a refresh. Until its end, waits of other calls leave out the requests whose code
    /// this is.
    static func waiting<T>(
        isolation: isolated (any Actor)? = #isolation,
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

    /// Runs a wait for a refresh by this interceptor. Returns `nil` without waiting if that refresh waits, perhaps for
    /// another one that does, for a refresh that the current task is part of: neither would end.
    static func waiting<T>(
        forRefreshOf interceptor: ObjectIdentifier,
        isolation: isolated (any Actor)? = #isolation,
        _ wait: () async -> T
    ) async -> T? {
        let refreshes = refreshes
        guard refreshWaits.withLock({ $0.begin(of: refreshes, for: interceptor) }) else { return nil }
        defer { refreshWaits.withLock { $0.end(of: refreshes, for: interceptor) } }
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

    /// Whether the current task runs inside of a refresh by this interceptor.
    static func isInRefresh(of interceptor: ObjectIdentifier) -> Bool {
        callers.contains { if case .refresh(interceptor) = $0 { true } else { false } }
    }

    /// Whether the current task runs inside of a call for this request.
    static func isCalled(for request: Request) -> Bool { requests.contains(request) }

    private static var requests: [Request] {
        callers.compactMap { if case .request(let request) = $0 { request } else { nil } }
    }

    private static var refreshes: Set<ObjectIdentifier> {
        Set(callers.compactMap { if case .refresh(let interceptor) = $0 { interceptor } else { nil } })
    }

    /// The callers whose calls have not returned.
    private static var callers: [Caller] { calls.compactMap { $0.withLock { $0 } } }
}

/// The waits of refreshes for other refreshes, which are named by their interceptors.
private struct RefreshWaits {
    /// The number of waits, by the refresh that waits and the one that it waits for.
    private var counts: [ObjectIdentifier: [ObjectIdentifier: Int]] = [:]

    /// Adds a wait of each refresh. Returns `false`, and adds none, if that would close a circle.
    mutating func begin(of refreshes: Set<ObjectIdentifier>, for awaited: ObjectIdentifier) -> Bool {
        if reaches(refreshes, from: awaited) { return false }
        for refresh in refreshes { counts[refresh, default: [:]][awaited, default: 0] += 1 }
        return true
    }

    mutating func end(of refreshes: Set<ObjectIdentifier>, for awaited: ObjectIdentifier) {
        for refresh in refreshes {
            guard var waits = counts[refresh], let count = waits[awaited] else { continue }
            waits[awaited] = count > 1 ? count - 1 : nil
            counts[refresh] = waits.isEmpty ? nil : waits
        }
    }

    private func reaches(_ refreshes: Set<ObjectIdentifier>, from start: ObjectIdentifier) -> Bool {
        var seen: Set = [start]
        var open = [start]
        while let next = open.popLast() {
            if refreshes.contains(next) { return true }
            for awaited in (counts[next] ?? [:]).keys where seen.insert(awaited).inserted { open.append(awaited) }
        }
        return false
    }
}
