/// The one seam between Curlew and the network. Decorators (a cache, a limit, a recorder) and mocks
/// conform to it and wrap another; nothing reaches round it.
///
/// `perform` carries out one exchange: no redirect is followed, nothing is tried again. It returns when
/// the response has ended, after the last call to `sink`; cancelling the calling task cancels the exchange.
public protocol Transport: Sendable {
    func perform(_ request: TransferRequest, sink: any TransferSink) async throws(CurlewError) -> TransferOutcome

    /// Ends running exchanges with `.sessionClosed` and closes every connection; later ones fail so too.
    func shutdown() async
}

extension Transport {
    public func shutdown() async {}
}

/// What an exchange gave, beside the bytes that its sink received.
public struct TransferOutcome: Sendable {
    public var head: ResponseHead
    public var trailers: HTTPHeaders
    public var metrics: TransferMetrics

    public init(head: ResponseHead, trailers: HTTPHeaders = [:], metrics: TransferMetrics) {
        self.head = head
        self.trailers = trailers
        self.metrics = metrics
    }
}
