internal import CurlewCore

/// A download whose response is acceptable, but which a retrier may still replace. Until that is decided, the file at
/// the destination is not changed, and monitors do not hear of the completion.
// A class, so that an absent value costs one pointer in every run.
final class HeldDownload {
    let exchange: Exchange
    let response: LazyResponse?
    /// The file under its temporary name.
    let body: ReceivedBody
    let file: any UnsettledFile

    init(_ exchange: Exchange, _ response: LazyResponse?, _ body: ReceivedBody, _ file: any UnsettledFile) {
        self.exchange = exchange
        self.response = response
        self.body = body
        self.file = file
    }
}

extension Run {
    /// Whether a retrier has to be asked about the status of an acceptable response.
    func isForRetriers(_ response: LazyResponse?) -> Bool {
        guard attempt.hasRetriers, let status = response?.head.status, status != 200 else { return false }
        return request.retriers.contains { $0.retryableHTTPStatusCodes.contains(status) }
    }

    /// Moves the file to its destination, and ends the exchange.
    func settle(_ held: HeldDownload) async -> RunResult {
        heldDownload = nil
        let (body, failure) = await settled(held.file, nil)
        let error = failure.map { located($0, held.exchange, held.response, held.body) }
        emitCompletion(error)
        return result(of: held.exchange, held.response, body, error)
    }

    /// Removes the file of the held download, and ends its exchange.
    func dropHeldDownload() async {
        guard let held = exchange(&heldDownload, with: nil) else { return }
        _ = try? await held.file.settle(accepted: false)
        request.keep(.none)
        emitCompletion(nil)
    }

    /// Removes the file of the download, and returns its result without a body.
    func dropped(_ held: HeldDownload) async -> RunResult {
        await dropHeldDownload()
        return result(of: held.exchange, held.response, .none, nil)
    }
}
