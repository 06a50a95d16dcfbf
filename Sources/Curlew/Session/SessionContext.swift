internal import CurlewCore

/// What a session's requests need to know of it, without keeping its connections alive.
final class SessionContext: Sendable {
    let configuration: SessionConfiguration
    let interceptor: (any RequestInterceptor)?
    let redirectHandler: (any RedirectHandler)?
    let monitors: MonitorHub?
    let startsImmediately: Bool
    /// One object for all requests: a transport prepares its own form of it once.
    let defaultHeaders: DefaultHeaders

    init(
        configuration: SessionConfiguration,
        interceptor: (any RequestInterceptor)?,
        redirectHandler: (any RedirectHandler)?,
        eventMonitors: [any EventMonitor],
        startsImmediately: Bool
    ) {
        self.configuration = configuration
        self.interceptor = interceptor
        self.redirectHandler = redirectHandler
        self.startsImmediately = startsImmediately
        monitors = MonitorHub(eventMonitors)
        defaultHeaders = DefaultHeaders(configuration.headers)
    }
}
