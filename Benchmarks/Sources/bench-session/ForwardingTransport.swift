internal import Curlew

/// A decorator that only forwards, to measure the cost of decorating.
struct ForwardingTransport: Transport {
    let wrapped: any Transport

    func perform(_ request: TransferRequest, sink: any TransferSink) async throws(CurlewError) -> TransferOutcome {
        try await wrapped.perform(request, sink: ForwardingSink(sink))
    }

    func shutdown() async { await wrapped.shutdown() }

    func enforcedGuards(of configuration: TransportConfiguration) -> TransportGuards {
        wrapped.enforcedGuards(of: configuration)
    }
}

private final class ForwardingSink: TransferSink {
    private let sink: any TransferSink

    init(_ sink: any TransferSink) { self.sink = sink }

    func willStart(_ control: any TransferControl) { sink.willStart(control) }

    func didReceive(informational head: ResponseHead) { sink.didReceive(informational: head) }

    func didReceive(head: ResponseHead) -> Disposition { sink.didReceive(head: head) }

    func didReceive(body: UnsafeRawBufferPointer) -> Disposition { sink.didReceive(body: body) }

    func didSend(bodyBytes: Int64, of expected: Int64?) { sink.didSend(bodyBytes: bodyBytes, of: expected) }
}
