internal import CurlewCore
internal import CurlewLocks
internal import Dispatch
internal import Foundation
internal import Synchronization

/// What a session's requests need to know of it, without keeping its connections alive.
final class SessionContext: Sendable {
    let configuration: SessionConfiguration
    let interceptor: (any RequestInterceptor)?
    /// The same question without a copy of it.
    let hasInterceptor: Bool
    let redirectHandler: (any RedirectHandler)?
    let cachedResponseHandler: (any CachedResponseHandler)?
    let monitorQueues: [MonitorQueue]
    /// The session, for monitors that ask for it. Empty without monitors: a weak reference makes every strong one slower.
    let monitoredSession = Lock<WeakSession?>(nil)
    let startsImmediately: Bool
    let requestSetup: Session.RequestSetup
    /// Behind a lock: what joins and leaves must not wait for the session's actor, on every thread at once.
    let registry = Lock(RequestRegistry())
    /// What servers have accepted, for later requests to the same protection spaces.
    let credentials = MostlyEmpty(CredentialStore(), isNothing: \.isEmpty)
    // Every request asks for its number, on every thread at once: not a lock.
    private let serial = Atomic<UInt64>(0)
    /// nil if the session has none, a failure if relative URLs cannot be resolved against it.
    let baseURL: Result<BaseURL, CurlewError>?
    /// One object for all requests: a transport prepares its own form of it once.
    let defaultHeaders: DefaultHeaders
    /// What a request into memory that asks for nothing differs in from the transport's session.
    let plainOptions: TransferOptions

    init(
        configuration: SessionConfiguration,
        interceptor: (any RequestInterceptor)?,
        redirectHandler: (any RedirectHandler)?,
        cachedResponseHandler: (any CachedResponseHandler)?,
        eventMonitors: [any EventMonitor],
        startsImmediately: Bool,
        requestSetup: Session.RequestSetup
    ) {
        self.configuration = configuration
        self.interceptor = interceptor
        hasInterceptor = interceptor != nil
        self.redirectHandler = redirectHandler
        self.cachedResponseHandler = cachedResponseHandler
        self.startsImmediately = startsImmediately
        self.requestSetup = requestSetup
        monitorQueues = eventMonitors.reduce(into: []) { $0.add($1) }
        baseURL = configuration.baseURL.map { url in
            Result { () throws(CurlewError) in try BaseURL(url) }
        }
        let codings = Capabilities.current.contentCodings
        defaultHeaders = DefaultHeaders(configuration.fields(transportUndoes: codings))
        var timeouts = configuration.timeouts
        // A budget over tries and redirects: each exchange gets what is left.
        timeouts.total = nil
        // The body may turn out to go into a file. Where it does not, its delegate knows the limit.
        let hasLimit = configuration.decisions?.responseDisposition == nil
        plainOptions = TransferOptions(
            timeouts: timeouts,
            maximumBodySize: hasLimit ? configuration.maximumBodySize : nil
        )
    }

    /// The session's fields as they are now.
    func defaultHeaders(for url: URL) -> DefaultHeaders {
        guard let changing = configuration.changingHeaders else { return defaultHeaders }
        return changing.over(defaultHeaders, for: url)
    }

    /// Fields that went to another URL, without the changing ones that are kept from this one.
    func defaultHeaders(_ fields: DefaultHeaders, at url: URL) -> DefaultHeaders {
        guard let origin = configuration.changingHeaders?.origin, !RedirectLocation.isSameOrigin(origin, url) else {
            return fields
        }
        return fields.without(
            fields.headers.filter { defaultHeaders.headers.value(for: $0.name) != $0.value }.map(\.name))
    }

    // MARK: What responses have said to all requests

    // Methods, because taking the stores out would count references to them, in every request.

    /// Https in the place of http, where the host has asked for it.
    func upgrade(_ url: inout URL) throws(CurlewError) {
        if let hsts = configuration.hsts, !hsts.isEmpty { url = try hsts.upgraded(url) }
    }

    var remembersFields: Bool { configuration.hsts != nil || configuration.cookies != nil }

    func remember(_ fields: HTTPHeaders, from url: URL, handlesCookies: Bool) {
        configuration.hsts?.receive(fields, from: url)
        if handlesCookies { configuration.cookies?.receive(fields, from: url) }
    }

    /// Tells monitors, and the hook on the handlers' queue.
    func becameInvalid(_ session: SessionReference) {
        for queue in monitorQueues { queue.emit { $0.session(session, didBecomeInvalidWithError: nil) } }
        guard let hook = configuration.decisions?.sessionDidBecomeInvalid else { return }
        Delivery(queue: configuration.completionQueue ?? .main) { hook(session) }
    }

    /// The number of the latest request.
    var lastSerial: UInt64 { serial.load(ordering: .relaxed) }

    // Relaxed: numbers must differ, which one read-modify-write each gives in any order.
    func nextSerial() -> UInt64 { serial.wrappingAdd(1, ordering: .relaxed).newValue }
}
