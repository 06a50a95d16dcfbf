/// The one seam between Curlew and the network. Decorators (a cache, a limit, a recorder) and mocks
/// conform to it and wrap another; nothing reaches round it.
///
/// `perform` carries out one exchange: no redirect is followed, nothing is tried again. It returns when
/// the response has ended, after the last call to `sink`; cancelling the calling task cancels the exchange.
public protocol Transport: Sendable {
    /// Sends one request and hands the sink what comes back; returns when it is over.
    func perform(_ request: TransferRequest, sink: any TransferSink) async throws(CurlewError) -> TransferOutcome

    /// Ends running exchanges with `.sessionClosed` and closes every connection; later ones fail so too.
    func shutdown() async

    /// Which of a configuration's guards this transport enforces as the configuration has them.
    ///
    /// A session asks once, with its own configuration. Where a guard is set that its transport does not enforce,
    /// every request fails with `.unsupported`: it would go out unprotected. The default is none of them. A decorator
    /// answers what the transport that it wraps answers, one without a network `.all`.
    func enforcedGuards(of configuration: TransportConfiguration) -> TransportGuards
}

extension Transport {
    public func shutdown() async {}

    public func enforcedGuards(of configuration: TransportConfiguration) -> TransportGuards { [] }
}

/// What an exchange gave, beside the bytes that its sink received.
public struct TransferOutcome: Sendable {
    /// The head of the response.
    public var head: ResponseHead
    /// The fields of the trailer section, which follows the body.
    public var trailers: HTTPHeaders
    /// The measurements of the exchange.
    public var metrics: TransferMetrics
    /// Heads with status 401 that the transport has answered itself, with the request's credentials.
    package var answeredChallenges: [ResponseHead] = []

    /// Creates an outcome.
    public init(head: ResponseHead, trailers: HTTPHeaders = [:], metrics: TransferMetrics) {
        self.head = head
        self.trailers = trailers
        self.metrics = metrics
    }
}
