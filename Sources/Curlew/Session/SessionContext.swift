internal import CurlewCore
internal import CurlewLocks
internal import Dispatch
internal import Foundation
internal import FoundationNetworking
internal import Synchronization

/// The parts of a session that its requests need. It does not keep the session's connections alive.
package final class SessionContext: Sendable {
    let configuration: SessionConfiguration
    /// Adapts and retries every request of the session, before the request's own interceptor.
    package let interceptor: (any RequestInterceptor)?
    /// Handles the redirects of requests without a redirect handler.
    package let redirectHandler: (any RedirectHandler)?
    /// Decides what is stored in the cache, for requests without such a handler.
    package let cachedResponseHandler: (any CachedResponseHandler)?
    /// `nil` if the configuration's resilience has no part.
    let resilience: ResilienceControl?
    let monitorQueues: [MonitorQueue]
    /// The session, for monitors that ask for it. Set only if there are monitors, because a weak reference makes every
    /// strong one slower.
    let monitoredSession = WeakReference<Session>()
    /// Whether adding the first response handler starts a request.
    package let startsImmediately: Bool
    /// Protected by a lock, so that requests on all threads join and leave without waiting for the session's actor.
    let registry = Lock(RequestRegistry())
    /// Credentials that servers have accepted, for later requests to the same protection spaces.
    let credentials = UsuallyEmptyLock(CredentialStore(), isEmpty: \.isEmpty)
    // Atomic, because every request takes a number, on any thread.
    private let serial = Atomic<UInt64>(0)
    /// `nil` if the session has none, a failure if relative URLs cannot be resolved against it.
    let baseURL: Result<BaseURL, CurlewError>?
    /// The endpoints, which take precedence over `baseURL`. `nil` if the session has none, a failure if they cannot be
    /// used.
    let endpoints: Result<EndpointControl, CurlewError>?
    /// Whether relative URLs may be resolved.
    var hasBase: Bool { if case .none = baseURL, case .none = endpoints { false } else { true } }
    /// The fields of every request. One object, so that a transport converts it only once.
    let defaultHeaders: DefaultHeaders
    /// The options of every attempt of a request that sets none, without the monitors.
    let attemptOptions: AttemptOptions
    /// The transport options of a request whose body is kept in memory, and which sets no options.
    let plainOptions: TransferOptions

    init(
        configuration: SessionConfiguration,
        resilience: ResilienceControl?,
        interceptor: (any RequestInterceptor)?,
        redirectHandler: (any RedirectHandler)?,
        cachedResponseHandler: (any CachedResponseHandler)?,
        eventMonitors: [any EventMonitor],
        startsImmediately: Bool
    ) {
        self.configuration = configuration
        self.interceptor = interceptor
        self.redirectHandler = redirectHandler
        self.cachedResponseHandler = cachedResponseHandler
        self.startsImmediately = startsImmediately
        self.resilience = resilience
        let monitorQueues: [MonitorQueue] = eventMonitors.reduce(into: []) { $0.add($1) }
        self.monitorQueues = monitorQueues
        let report = {
            @Sendable [monitoredSession, identifier = configuration.identifier] (decision: SessionDecision) in
            for queue in monitorQueues {
                // The session is asked for in the monitor's queue, because the caller may hold a lock.
                queue.emit {
                    let session = SessionReference(identifier: identifier, session: monitoredSession.object)
                    $0.session(session, didDecide: decision)
                }
            }
        }
        if !monitorQueues.isEmpty { resilience?.report(to: report) }
        baseURL = configuration.baseURL.map { url in
            Result { () throws(CurlewError) in try BaseURL(url) }
        }
        endpoints = configuration.endpoints.map { group in
            Result { () throws(CurlewError) in try EndpointControl(group, reportingTo: report) }
        }
        let codings = Capabilities.current.contentCodings
        defaultHeaders = DefaultHeaders(configuration.fields(transportUndoes: codings))
        attemptOptions = AttemptOptions(
            adapters: interceptor.map { [$0] } ?? [],
            hasRetriers: interceptor != nil,
            interceptors: ExchangeInterceptors(configuration.exchangeAdapters, configuration.middleware),
            totalTimeout: configuration.timeouts.total
        )
        var timeouts = configuration.timeouts
        // The total timeout covers all attempts and redirects, so each exchange gets the remaining time.
        timeouts.total = nil
        // The transport has no limit if a user may turn the body into a file. The delegate enforces it for other
        // bodies.
        let hasLimit = configuration.decisions?.responseDisposition == nil
        plainOptions = TransferOptions(
            timeouts: timeouts,
            maximumBodySize: hasLimit ? configuration.maximumBodySize : nil
        )
    }

    /// Returns the session's credentials for a URL's origin.
    func authentication(for url: URL) -> TransferAuthentication? {
        // Only this field is copied: a method of the configuration would copy all of it.
        let credentials = configuration.credentials
        guard !credentials.isEmpty, let host = url.host()?.lowercased(), let scheme = url.scheme?.lowercased() else {
            return nil
        }
        let usual = scheme == "https" ? 443 : 80
        let port = url.port ?? usual
        if let own = credentials["\(scheme)://\(host):\(port)"] { return own }
        if port == usual, let own = credentials["\(scheme)://\(host)"] { return own }
        if let own = credentials["\(host):\(port)"] { return own }
        return scheme == "https" && port == usual ? credentials[host] : nil
    }

    /// Returns the session's current fields for a request to `url`.
    func defaultHeaders(for url: URL) -> DefaultHeaders {
        guard let changing = configuration.changingHeaders else { return defaultHeaders }
        return changing.over(defaultHeaders, for: url)
    }

    /// Returns fields that were sent to another URL, without the changing ones that must not be sent to this one.
    func defaultHeaders(_ fields: DefaultHeaders, at url: URL) -> DefaultHeaders {
        guard let origin = configuration.changingHeaders?.origin, !RedirectLocation.isSameOrigin(origin, url) else {
            return fields
        }
        return fields.without(
            fields.headers.filter { defaultHeaders.headers.value(for: $0.name) != $0.value }.map(\.name))
    }

    /// Returns the URLs that a relative URL may mean: one for each endpoint, or the one with the base URL.
    func absolutes(of url: URL) throws(CurlewError) -> [URL] {
        guard hasBase, url.scheme == nil else { return [url] }
        guard let endpoints else { return [try baseURL?.get().resolve(url.absoluteString) ?? url] }
        var absolutes: [URL] = []
        for base in try endpoints.get().bases { absolutes.append(try base.resolve(url.absoluteString)) }
        return absolutes
    }

    /// The queue of handlers that name none.
    var handlerQueue: DispatchQueue { configuration.completionQueue ?? .main }

    /// Notifies the monitors, and calls the hook on the queue of the handlers.
    func becameInvalid(_ session: SessionReference) {
        for queue in monitorQueues { queue.emit { $0.session(session, didBecomeInvalidWithError: nil) } }
        guard let hook = configuration.decisions?.sessionDidBecomeInvalid else { return }
        CallbackDelivery(queue: handlerQueue) { hook(session) }
    }

    /// The number of the latest request.
    var lastSerial: UInt64 { serial.load(ordering: .relaxed) }

    // Relaxed: the numbers only have to differ, which an atomic increment guarantees in any order.
    func nextSerial() -> UInt64 { serial.wrappingAdd(1, ordering: .relaxed).newValue }
}

/// The reference from a request to its session.
enum SessionLink {
    /// The request has not started or is running, and keeps the session alive.
    case strong(Session)
    /// The request is on the session's shelf, and the session holds the request.
    case shelved(WeakReference<Session>)
    case none

    var session: Session? {
        switch self {
        case .strong(let session): session
        case .shelved(let weak): weak.object
        case .none: nil
        }
    }
}

/// A weak reference, which all copies of this value share. It is stored behind a pointer, because a weak reference
/// itself would make every copy of its owner expensive.
struct WeakReference<Object: AnyObject & Sendable>: Sendable {
    private struct Place {
        weak var object: Object?
    }

    private let place: Lock<Place>

    init(_ object: Object? = nil) { place = Lock(Place(object: object)) }

    /// The object. `nil` if none was set, or if it has been released.
    var object: Object? {
        get { place.withLock { $0.object } }
        nonmutating set { place.withLock { $0.object = newValue } }
    }
}
