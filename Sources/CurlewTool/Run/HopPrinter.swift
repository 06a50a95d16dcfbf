internal import Curlew
internal import Foundation
internal import FoundationNetworking

/// Follows redirects or does not, and shows the responses on the way if that was asked for.
struct HopPrinter: RedirectHandler {
    let follows: Bool
    /// nil: nothing is shown.
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

/// The printer of a run, as its redirect handler, its transport and the run itself use it: one after the other.
actor SharedPrinter {
    private var printer: ExchangePrinter
    private let preparation: Preparation
    /// Neither a redirect handler nor a transport can throw it: the run finds the failure at its next step.
    private var failure: OutputFile.Failure?
    /// The last response that may be a step on the way.
    private var hop: HopResponse?
    /// The request that comes next was led to by a redirect.
    private var showsNext = false

    init(_ printer: ExchangePrinter, _ preparation: Preparation) {
        self.printer = printer
        self.preparation = preparation
    }

    func use(_ body: @Sendable (inout ExchangePrinter) throws -> Void) throws {
        if let failure { throw failure }
        try body(&printer)
    }

    /// A response has come whose status may lead elsewhere.
    func received(_ response: HopResponse?) { hop = response }

    /// It does: it is shown, and so is the request that follows it. One from a cache has not been through the transport:
    /// what Foundation's type has kept of it is shown.
    func isFollowed(_ response: HTTPURLResponse) {
        showsNext = true
        let hop = self.hop ?? HopResponse(response)
        self.hop = nil
        print { printer throws(OutputFile.Failure) in
            try printer.response(
                version: hop.head.version.rawValue,
                status: hop.head.status,
                reason: hop.head.reason,
                headers: hop.head.headers.map { HeaderField($0.name, $0.value) }
            )
            try printer.body(hop.body)
            try printer.endBody(isFollowed: true)
        }
    }

    /// An exchange begins.
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
    /// The plan of a later exchange: what is sent then, its fields in the order of this plan, others behind them.
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
