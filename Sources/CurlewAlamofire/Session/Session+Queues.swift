public import Curlew
public import Dispatch

// Initializers with Alamofire's queues, so that code that passes queues compiles. The queues have no effect: requests
// are encoded and responses serialized in the task that runs the request.
extension Session {
    /// Creates a session. The queues have no effect.
    public init(
        configuration: SessionConfiguration = .default,
        rootQueue: DispatchQueue,
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
            configuration: configuration,
            startRequestsImmediately: startRequestsImmediately,
            requestSetup: requestSetup,
            interceptor: interceptor,
            serverTrustManager: serverTrustManager,
            redirectHandler: redirectHandler,
            cachedResponseHandler: cachedResponseHandler,
            eventMonitors: eventMonitors
        )
    }

    /// Creates a session. The queues have no effect.
    public init(
        configuration: SessionConfiguration = .default,
        startRequestsImmediately: Bool = true,
        requestSetup: RequestSetup = .lazy,
        requestQueue: DispatchQueue,
        serializationQueue: DispatchQueue? = nil,
        interceptor: (any Curlew.RequestInterceptor)? = nil,
        serverTrustManager: ServerTrustManager? = nil,
        redirectHandler: (any Curlew.RedirectHandler)? = nil,
        cachedResponseHandler: (any Curlew.CachedResponseHandler)? = nil,
        eventMonitors: [any Curlew.EventMonitor] = []
    ) {
        self.init(
            configuration: configuration,
            startRequestsImmediately: startRequestsImmediately,
            requestSetup: requestSetup,
            interceptor: interceptor,
            serverTrustManager: serverTrustManager,
            redirectHandler: redirectHandler,
            cachedResponseHandler: cachedResponseHandler,
            eventMonitors: eventMonitors
        )
    }

    /// Creates a session. The queue has no effect.
    public init(
        configuration: SessionConfiguration = .default,
        startRequestsImmediately: Bool = true,
        requestSetup: RequestSetup = .lazy,
        serializationQueue: DispatchQueue,
        interceptor: (any Curlew.RequestInterceptor)? = nil,
        serverTrustManager: ServerTrustManager? = nil,
        redirectHandler: (any Curlew.RedirectHandler)? = nil,
        cachedResponseHandler: (any Curlew.CachedResponseHandler)? = nil,
        eventMonitors: [any Curlew.EventMonitor] = []
    ) {
        self.init(
            configuration: configuration,
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
