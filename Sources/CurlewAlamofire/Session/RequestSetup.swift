public import Curlew

extension Session {
    /// The time at which a request's `URLRequest` is created and adapted.
    public enum RequestSetup: Sendable, Hashable {
        /// When the request starts.
        case lazy
        /// When the request is created: its `URLRequest`, its task, its curl command and its errors are known before it
        /// starts. The session runs such a request up to the point where it would be sent, and there it waits for
        /// `resume()`, a response handler or an awaiting method. Streams and WebSockets are set up when they start.
        ///
        /// The total timeout starts when the result is asked for and the set-up is done: it does not end an adapter that
        /// was called before. The request holds its session until it has ended, so cancel what you do not start. As after `resume()`,
        /// awaiting methods join the run: `data()` accepts every status unless the request has `validate()`, and
        /// cancelling its task does not cancel the request.
        case eager
    }

    /// When the `URLRequest` of a request is created.
    public nonisolated var requestSetup: RequestSetup { configuration.requestWasCreated == nil ? .lazy : .eager }

    /// Creates a session that sets up its requests when they start, or when they are created.
    public init(
        configuration: SessionConfiguration = .default,
        transport: (any Transport)? = nil,
        startRequestsImmediately: Bool = true,
        requestSetup: RequestSetup,
        interceptor: (any Curlew.RequestInterceptor)? = nil,
        serverTrustManager: ServerTrustManager? = nil,
        redirectHandler: (any Curlew.RedirectHandler)? = nil,
        cachedResponseHandler: (any Curlew.CachedResponseHandler)? = nil,
        eventMonitors: [any Curlew.EventMonitor] = []
    ) {
        var configuration = configuration
        switch requestSetup {
        case .lazy: configuration.requestWasCreated = nil
        case .eager: configuration.requestWasCreated = { $0.runUntilSent() }
        }
        self.init(
            configuration: configuration,
            transport: transport,
            startRequestsImmediately: startRequestsImmediately,
            interceptor: interceptor,
            serverTrustManager: serverTrustManager,
            redirectHandler: redirectHandler,
            cachedResponseHandler: cachedResponseHandler,
            eventMonitors: eventMonitors
        )
    }
}
