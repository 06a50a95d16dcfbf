internal import CurlewCore

/// A download whose response is accepted, and may be replaced by that of another attempt: until that is decided, nothing
/// is changed at its destination, and monitors are not told of its end.
// An object: few runs have one, and each has room for it.
final class HeldDownload {
    let exchange: Exchange
    let response: LazyResponse?
    /// Where it is meanwhile.
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
    /// Whether a retrier is asked about the status of a response that is no failure.
    func isForRetriers(_ response: LazyResponse?) -> Bool {
        guard attempt.hasRetriers, let status = response?.head.status, status != 200 else { return false }
        return request.retriers.contains { $0.retryableHTTPStatusCodes.contains(status) }
    }

    /// Moves the file to its place, and ends the exchange.
    func settle(_ held: HeldDownload) async -> RunResult {
        heldDownload = nil
        let (body, failure) = await settled(held.file, nil)
        let error = failure.map { located($0, held.exchange, held.response, held.body) }
        emitCompletion(error)
        return result(of: held.exchange, held.response, body, error)
    }

    /// Removes the file of a download that is held, and ends its exchange.
    func dropHeldDownload() async {
        guard let held = exchange(&heldDownload, with: nil) else { return }
        _ = try? await held.file.settle(accepted: false)
        request.keep(.none)
        emitCompletion(nil)
    }

    /// What is left of a download whose file is removed.
    func dropped(_ held: HeldDownload) async -> RunResult {
        await dropHeldDownload()
        return result(of: held.exchange, held.response, .none, nil)
    }
}
