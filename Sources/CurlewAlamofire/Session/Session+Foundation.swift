public import Curlew
public import Dispatch
public import FoundationNetworking

extension Session {
    /// Creates a session with the settings of a Foundation configuration that have a meaning here: see
    /// `SessionConfiguration(_:)`. The queues have no effect.
    @_disfavoredOverload
    public init(
        configuration: FoundationNetworking.URLSessionConfiguration,
        rootQueue: DispatchQueue? = nil,
        startRequestsImmediately: Bool = true,
        requestSetup: RequestSetup = .lazy,
        requestQueue: DispatchQueue? = nil,
        serializationQueue: DispatchQueue? = nil,
        interceptor: (any Curlew.RequestInterceptor)? = nil,
        serverTrustManager: ServerTrustManager? = nil,
        redirectHandler: (any Curlew.RedirectHandler)? = nil,
        cachedResponseHandler: (any Curlew.CachedResponseHandler)? = nil,
        eventMonitors: [any Curlew.EventMonitor] = []
    ) {
        self.init(
            configuration: SessionConfiguration(configuration),
            startRequestsImmediately: startRequestsImmediately,
            requestSetup: requestSetup,
            interceptor: interceptor,
            serverTrustManager: serverTrustManager,
            redirectHandler: redirectHandler,
            cachedResponseHandler: cachedResponseHandler,
            eventMonitors: eventMonitors
        )
    }
}
