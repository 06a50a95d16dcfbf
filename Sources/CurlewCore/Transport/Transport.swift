/// The interface between Curlew and the network. Nothing in Curlew bypasses it.
///
/// Decorators, such as a cache, a limit or a recorder, conform to it and wrap another transport; mocks conform to it as
/// well.
///
/// `perform` carries out a single exchange: it follows no redirect and retries nothing. It returns after the response
/// has ended and the last call to `sink` has returned. Cancelling the calling task cancels the exchange.
public protocol Transport: Sendable {
    /// Sends a request and passes the response to the sink. Returns when the exchange has ended.
    func perform(_ request: TransferRequest, sink: any TransferSink) async throws(CurlewError) -> TransferOutcome

    /// Ends running exchanges with `.sessionClosed` and closes every connection. Later exchanges fail with it as well.
    func shutdown() async

    /// Returns the guards that this transport enforces with the settings in `configuration`.
    ///
    /// A session calls it once, with its configuration. If a guard is set that its transport does not enforce, every
    /// request fails with `.unsupported`, because it would be sent unprotected. The default is no guard. A decorator
    /// returns the guards of the transport that it wraps, and a transport without a network returns `.all`.
    func enforcedGuards(of configuration: TransportConfiguration) -> TransportGuards
}

extension Transport {
    public func shutdown() async {}

    public func enforcedGuards(of configuration: TransportConfiguration) -> TransportGuards { [] }
}

/// The result of an exchange, apart from the body, which its sink received.
public struct TransferOutcome: Sendable {
    /// The head of the response.
    public var head: ResponseHead
    /// The trailer fields, which follow the body.
    public var trailers: HTTPHeaders
    /// The measurements of the exchange.
    public var metrics: TransferMetrics
    /// The heads with status 401 that the transport answered itself with the request's credentials.
    package var answeredChallenges: [ResponseHead] = []

    /// Creates an outcome.
    public init(head: ResponseHead, trailers: HTTPHeaders = [:], metrics: TransferMetrics) {
        self.head = head
        self.trailers = trailers
        self.metrics = metrics
    }
}
