public import CurlewCore

/// Makes a session for the length of `body`: what is still running after it is awaited, or cancelled if it threw
/// or the task is cancelled, and the session's connections are closed.
public func withSession<R>(
    configuration: SessionConfiguration = .default,
    transport: (any Transport)? = nil,
    startRequestsImmediately: Bool = true,
    interceptor: (any RequestInterceptor)? = nil,
    serverTrustManager: ServerTrustManager? = nil,
    redirectHandler: (any RedirectHandler)? = nil,
    cachedResponseHandler: (any CachedResponseHandler)? = nil,
    eventMonitors: [any EventMonitor] = [],
    isolation: isolated (any Actor)? = #isolation,
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
        if !Task.isCancelled { await session.drainUnlessCancelled() }
        await session.invalidate()
        return result
    } catch {
        await session.invalidate()
        throw error
    }
}

extension Session {
    /// Drains the session; if the waiting task is cancelled, what is still running is cancelled too.
    fileprivate nonisolated func drainUnlessCancelled() async {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                await self.drain()
                return true
            }
            group.addTask {
                // Sleeps until it is cancelled: by the caller, or below when everything has ended.
                while !Task.isCancelled { try? await Task.sleep(for: .seconds(86_400)) }
                return false
            }
            if await group.next() == false { await self.cancelAllRequests() }
            group.cancelAll()
        }
    }
}
