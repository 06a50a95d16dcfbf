internal import Curlew
internal import Foundation

/// Reports requests and redirects to a printer. A redirect handler gets Foundation's types, which have lost the order
/// of the fields, the version and the body.
struct HopTransport: Transport {
    let base: any Transport
    let printer: SharedPrinter

    func perform(
        _ request: TransferRequest,
        sink: any TransferSink
    ) async throws(CurlewError) -> TransferOutcome {
        await printer.sends(request)
        let hop = HopSink(sink)
        let outcome = try await base.perform(request, sink: hop)
        await printer.received(hop.response)
        return outcome
    }

    func shutdown() async { await base.shutdown() }

    func enforcedGuards(of configuration: TransportConfiguration) -> TransportGuards {
        base.enforcedGuards(of: configuration)
    }
}

/// A response that may be a redirect.
struct HopResponse: Sendable {
    let head: ResponseHead
    var body = Data()
}

/// Passes on all events, and keeps a redirect with its body, whose size the library limits.
// SAFETY: the transport's calls never overlap, and none follows the return of `perform`; `response` is read only then,
// by the task that awaited it.
final class HopSink: TransferSink, @unchecked Sendable {
    private(set) var response: HopResponse?
    private let sink: any TransferSink

    init(_ sink: any TransferSink) { self.sink = sink }

    func willStart(_ control: any TransferControl) { sink.willStart(control) }
    func didReceive(informational head: ResponseHead) { sink.didReceive(informational: head) }
    func didSend(bodyBytes: Int64, of expected: Int64?) { sink.didSend(bodyBytes: bodyBytes, of: expected) }

    func didReceive(head: ResponseHead) -> Disposition {
        let leadsElsewhere = 300..<400 ~= head.status && head.headers.contains(name: "Location")
        response = leadsElsewhere ? HopResponse(head: head) : nil
        return sink.didReceive(head: head)
    }

    func didReceive(body: UnsafeRawBufferPointer) -> Disposition {
        let disposition = sink.didReceive(body: body)
        // After `.pause` the same bytes are delivered again.
        if response != nil, case .proceed = disposition { response?.body.append(contentsOf: body) }
        return disposition
    }
}
