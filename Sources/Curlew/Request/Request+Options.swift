internal import CurlewCore
internal import CurlewLocks
public import Dispatch
public import Foundation
public import FoundationNetworking

// What can be asked of a request before it starts. Asked later it concerns what has yet to run.
extension Request {
    /// What a validation says.
    public typealias ValidationResult = Result<Void, any Error>

    /// Changes this request's clocks.
    ///
    ///     request.timeouts { $0.total = .seconds(3) }
    @discardableResult
    public func timeouts(_ change: (inout Timeouts) -> Void) -> Self {
        var timeouts = timeouts
        change(&timeouts)
        let changed = timeouts
        record.withLock { $0.ownExtras.options.timeouts = changed }
        return self
    }

    /// Limits the body in memory, or what one line or event of a stream may have.
    @discardableResult
    public func maximumBodySize(_ bytes: Int) -> Self {
        record.withLock { $0.ownExtras.options.maximumBodySize = max(0, bytes) }
        return self
    }

    /// Lets terminals take every status.
    @discardableResult
    public func acceptingAnyStatus() -> Self {
        record.withLock { $0.ownExtras.options.acceptsAnyStatus = true }
        return self
    }

    /// Says when `Expect: 100-continue` asks the server whether it wants the body; by default for bodies above
    /// 1 MiB or of unknown length. A header field `Expect` of the request's own goes before.
    @discardableResult
    public func expectContinue(_ expectation: ExpectContinue) -> Self {
        record.withLock { $0.ownExtras.options.expectContinue = expectation }
        return self
    }

    // MARK: Credentials

    /// Answers the server's challenges: the strongest of what it offers.
    ///
    /// Once the server has accepted them, the session answers challenges of the same protection space (origin and
    /// realm) with them too, for requests that have no credentials of their own. `persistence: .none` keeps them to
    /// this request. Nothing outlives the session: `.permanent` and `.synchronizable` are as `.forSession`.
    @discardableResult
    public func authenticate(
        username: String,
        password: String,
        persistence: URLCredential.Persistence = .forSession
    ) -> Self {
        authenticate(TransferAuthentication(username: username, password: password), persistence)
    }

    /// Answers the server's challenges, and by the credential's persistence those of later requests.
    @discardableResult
    public func authenticate(with credential: URLCredential) -> Self {
        let (username, password) = (credential.user ?? "", credential.password ?? "")
        return authenticate(TransferAuthentication(username: username, password: password), credential.persistence)
    }

    /// Authenticates this request by a scheme of your choice.
    @discardableResult
    public func authenticate(with authentication: TransferAuthentication) -> Self {
        authenticate(authentication, .none)
    }

    private func authenticate(
        _ authentication: TransferAuthentication,
        _ persistence: URLCredential.Persistence
    ) -> Self {
        record.withLock { record in
            record.ownExtras.options.authentication = authentication
            record.ownExtras.options.keepsAuthentication = persistence != .none
        }
        return self
    }

    // MARK: Late composition

    /// Decides about this request's redirects. Set twice the last one counts.
    @discardableResult
    public func redirect(using handler: any RedirectHandler) -> Self {
        // What was replaced goes without the lock: its `deinit` may ask the request.
        _ = record.withLock { exchange(&$0.ownExtras.options.redirectHandler, with: handler) }
        return self
    }

    /// Adds an interceptor behind those that there are.
    @discardableResult
    public func interceptor(_ interceptor: any RequestInterceptor) -> Self {
        record.withLock { record in
            record.ownExtras.options.add(adapter: interceptor)
            record.ownExtras.options.retriers.append(interceptor)
        }
        return self
    }

    /// Adds an adapter behind those that there are.
    @discardableResult
    @inlinable
    public func adapt(using adapter: any RequestAdapter) -> Self {
        add(adapter: adapter)
        return self
    }

    /// Adds a retrier behind those that there are.
    @discardableResult
    @inlinable
    public func retry(using retrier: any RequestRetrier) -> Self {
        add(retrier: retrier)
        return self
    }

    // Those who inline the above pay nothing for a result that they do not take.
    @usableFromInline
    func add(adapter: any RequestAdapter) { record.withLock { $0.ownExtras.options.add(adapter: adapter) } }

    @usableFromInline
    func add(retrier: any RequestRetrier) { record.withLock { $0.ownExtras.options.retriers.append(retrier) } }

    /// Adds a monitor for this request's events, behind those that there are and behind the session's.
    @discardableResult
    public func eventMonitor(_ monitor: any EventMonitor) -> Self {
        let listed = MonitorHub.Listed(monitor)
        _ = record.withLock { record in
            record.ownExtras.hooks.ownMonitors.append(listed)
            return exchange(&record.ownExtras.hooks.monitors, with: MonitorHub(record.ownExtras.hooks.ownMonitors))
        }
        return self
    }

    // MARK: Progress

    /// Tells how much of the body has gone out, every `interval` at most, the first and the last value always. Of
    /// several closures the last one set is called.
    @discardableResult
    public func uploadProgress(
        every interval: Duration = .milliseconds(50),
        queue: DispatchQueue = .main,
        closure: @escaping @Sendable (Progress) -> Void
    ) -> Self {
        reporter(\.uploadProgress).setHandler(every: interval, queue: queue, closure)
        return self
    }

    /// Tells how much of the body has come, every `interval` at most, the first and the last value always. Of several
    /// closures the last one set is called.
    @discardableResult
    public func downloadProgress(
        every interval: Duration = .milliseconds(50),
        queue: DispatchQueue = .main,
        closure: @escaping @Sendable (Progress) -> Void
    ) -> Self {
        reporter(\.downloadProgress).setHandler(every: interval, queue: queue, closure)
        return self
    }

    func reporter(_ path: WritableKeyPath<RequestHooks, ProgressReporter?>) -> ProgressReporter {
        let (reporter, hasEnded) = record.withLock { record in
            let last = path == \.uploadProgress ? record.transfer.upload : record.transfer.download
            let reporter = record.ownExtras.hooks[keyPath: path] ?? ProgressReporter(last: last)
            record.ownExtras.hooks[keyPath: path] = reporter
            return (reporter, record.run.result != nil)
        }
        if hasEnded { reporter.finish() }
        return reporter
    }

    // MARK: Creation

    /// Tells the final `URLRequest` of every try; at once if there is one already. The last closure set is called.
    @discardableResult
    public func onURLRequestCreation(
        on queue: DispatchQueue = .main,
        perform handler: @escaping @Sendable (URLRequest) -> Void
    ) -> Self {
        set(Hook(queue: queue, body: handler), at: \.onRequestCreation) { $0.history.toldRequest }
    }

    /// Tells the identifier of every exchange; at once if there is one already. The last closure set is called.
    @discardableResult
    public func onURLSessionTaskCreation(
        on queue: DispatchQueue = .main,
        perform handler: @escaping @Sendable (TaskIdentifier) -> Void
    ) -> Self {
        set(Hook(queue: queue, body: handler), at: \.onTaskCreation) { $0.history.tasks.last }
    }

    /// Keeps a hook, and calls it with what it would have been told last.
    private func set<Value>(
        _ hook: Hook<Value>,
        at path: WritableKeyPath<RequestHooks, Hook<Value>?>,
        last: (RequestRecord) -> Value?
    ) -> Self {
        let (last, _) = record.withLock { record in
            (last(record), exchange(&record.ownExtras.hooks[keyPath: path], with: hook))
        }
        if let last { hook.call(last) }
        return self
    }
}
