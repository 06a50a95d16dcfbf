public import CurlewCore

/// Runs `body` with a session that ends with it. Requests that are still running are then awaited, or cancelled if
/// `body` threw or the task is cancelled. Finally the session's connections are closed.
public func withSession<R>(
    configuration: SessionConfiguration = .default,
    transport: (any Transport)? = nil,
    startRequestsImmediately: Bool = true,
    interceptor: (any RequestInterceptor)? = nil,
    serverTrustManager: ServerTrustManager? = nil,
    redirectHandler: (any RedirectHandler)? = nil,
    cachedResponseHandler: (any CachedResponseHandler)? = nil,
    eventMonitors: [any EventMonitor] = [],
    _ body: (Session) async throws -> R
) async rethrows -> R {
    let session = Session(
        configuration: configuration,
        transport: transport,
        startRequestsImmediately: startRequestsImmediately,
        interceptor: interceptor,
        serverTrustManager: serverTrustManager,
        redirectHandler: redirectHandler,
        cachedResponseHandler: cachedResponseHandler,
        eventMonitors: eventMonitors
    )
    do {
        let result = try await body(session)
        await session.drain(isCleaningUp: false)
        await session.invalidate()
        return result
    } catch {
        await session.invalidate()
        throw error
    }
}
