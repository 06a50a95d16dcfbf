internal import Curlew
internal import Foundation
internal import FoundationNetworking

/// Follows redirects if `follows` is true, and prints the responses that redirect.
struct HopPrinter: RedirectHandler {
    let follows: Bool
    /// `nil` if redirects are not printed.
    let printer: SharedPrinter?

    func task(
        _ task: TaskIdentifier,
        willBeRedirectedTo request: URLRequest,
        for response: HTTPURLResponse
    ) async -> URLRequest? {
        guard follows else { return nil }
        await printer?.isFollowed(response)
        return request
    }
}

/// The printer of a run. The redirect handler, the transport and the run itself use it one after the other.
actor SharedPrinter {
    private var printer: ExchangePrinter
    private let preparation: Preparation
    /// The first failure to write. A redirect handler and a transport cannot throw it, so the run throws it at its next
    /// step.
    private var failure: OutputFile.Failure?
    /// The last response, if it may be a redirect.
    private var hop: HopResponse?
    /// Whether the next request was caused by a redirect.
    private var showsNext = false

    init(_ printer: ExchangePrinter, _ preparation: Preparation) {
        self.printer = printer
        self.preparation = preparation
    }

    func use(_ body: @Sendable (inout ExchangePrinter) throws -> Void) throws {
        if let failure { throw failure }
        try body(&printer)
    }

    /// Stores the last response if it may be a redirect. `nil` forgets the one before.
    func received(_ response: HopResponse?) { hop = response }

    /// Prints the redirect, and has the request that follows it printed. A redirect from the cache did not pass through
    /// the transport; it is printed from Foundation's type, without version, order of fields and body.
    func isFollowed(_ response: HTTPURLResponse) {
        showsNext = true
        let hop = self.hop ?? HopResponse(response)
        self.hop = nil
        print { printer throws(OutputFile.Failure) in
            try printer.response(hop.head)
            try printer.body(hop.body)
            try printer.endBody(isFollowed: true)
        }
    }

    /// Called when an exchange begins. Prints its request if a redirect caused it.
    func sends(_ request: TransferRequest) {
        guard exchange(&showsNext, with: false) else { return }
        let plan = preparation.plan.continued(as: request)
        let length: Int64?
        var body: [UInt8]?
        if case .data(let data) = request.body {
            (length, body) = (Int64(data.count), Array(data))
        } else {
            (length, body) = ((try? plan.bodyLength()) ?? nil, (try? plan.bodyPreview()) ?? nil)
        }
        let encodings = plan.suppressedHeaders.contains("accept-encoding") ? nil : AcceptedEncodings.value
        var head = plan.head(bodyLength: length, acceptEncoding: encodings)
        head.show(preparation.invocation, isCompressed: false)
        print { printer throws(OutputFile.Failure) in
            try printer.request(head, body: body, contentType: plan.header("Content-Type"))
        }
    }

    private func print(_ body: (inout ExchangePrinter) throws(OutputFile.Failure) -> Void) {
        guard failure == nil else { return }
        do throws(OutputFile.Failure) { try body(&printer) } catch { failure = error }
    }
}

extension HopResponse {
    init(_ response: HTTPURLResponse) {
        let fields = response.allHeaderFields.map { HTTPHeader(name: "\($0.key)", value: "\($0.value)") }
        head = ResponseHead(
            status: response.statusCode, headers: HTTPHeaders(received: fields.sorted { $0.name < $1.name }))
    }
}

extension RequestPlan {
    /// Returns the plan of a later exchange: the request as it is sent then, with the fields in the order of this plan,
    /// and others after them.
    func continued(as request: TransferRequest) -> RequestPlan {
        let order = headers.map { $0.name.lowercased() }
        let fields = request.headers.map { HeaderField($0.name, $0.value) }
        let known = order.compactMap { name in fields.first { $0.name.lowercased() == name } }
        let others = fields.filter { !order.contains($0.name.lowercased()) }
        var next = RequestPlan(
            method: request.method.rawValue,
            url: request.url.absoluteString,
            headers: known + others,
            suppressedHeaders: suppressedHeaders
        )
        if case .none = request.body {} else { next.body = body }
        return next
    }
}

/// Reports requests and redirects to a printer. A redirect handler gets Foundation's types, which have lost the order
/// of the fields, the version and the body.
struct HopTransport: PoolingTransport {
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

    var connections: ConnectionSnapshot {
        get async { await base.pooledConnections }
    }

    func prewarm(_ request: TransferRequest, connections count: Int) async throws(CurlewError) {
        try await base.prewarmPool(for: request, connections: count)
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
