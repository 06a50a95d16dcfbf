public import CurlewCore

extension SessionConfiguration {
    /// The transport that a session makes by itself: decorate it and give the result to `Session(transport:)`.
    public func makeTransport() -> any Transport { NoTransport() }
}

struct NoTransport: Transport {
    func perform(_ request: TransferRequest, sink: any TransferSink) async throws(CurlewError) -> TransferOutcome {
        throw .unsupported(feature: "a default transport", needs: "libcurl")
    }
}
