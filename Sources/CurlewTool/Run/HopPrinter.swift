internal import Curlew
internal import Foundation

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
        await printer?.hop(response, next: request)
        return request
    }
}

/// The printer of a run, as its redirect handler and the run itself use it: one after the other.
actor SharedPrinter {
    private var printer: ExchangePrinter
    /// A redirect handler has nobody to tell: the run finds the failure at its next step.
    private var failure: OutputFile.Failure?

    init(_ printer: ExchangePrinter) { self.printer = printer }

    func use(_ body: @Sendable (inout ExchangePrinter) throws -> Void) throws {
        if let failure { throw failure }
        try body(&printer)
    }

    func hop(_ response: HTTPURLResponse, next: URLRequest) {
        guard failure == nil else { return }
        let headers = response.allHeaderFields
            .compactMap { key, value in (key as? String).map { HeaderField($0, "\(value)") } }
            .sorted { $0.name.lowercased() < $1.name.lowercased() }
        do throws(OutputFile.Failure) {
            try printer.response(version: "HTTP", status: response.statusCode, reason: "", headers: headers)
            try printer.endBody()
            guard let url = next.url?.absoluteString else { return }
            let fields = (next.allHTTPHeaderFields ?? [:]).sorted { $0.key < $1.key }
            let parts = URLParts(url)
            let head = RequestHead(
                method: next.httpMethod ?? "GET",
                target: parts.target,
                headers: [HeaderField("Host", parts.authority)] + fields.map { HeaderField($0.key, $0.value) }
            )
            try printer.request(head, body: nil, contentType: nil)
        } catch {
            failure = error
        }
    }
}
