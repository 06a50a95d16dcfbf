internal import CurlewCore
internal import CurlewLocks

/// A download whose response is acceptable, but which a retrier may still replace. Until that is decided, the file at
/// the destination is not changed, and monitors do not hear of the completion.
// A class, so that an absent value costs one pointer in every run.
final class HeldDownload {
    let exchange: Exchange
    let response: LazyResponse?
    let file: any UnplacedFile

    init(_ exchange: Exchange, _ response: LazyResponse?, _ file: any UnplacedFile) {
        self.exchange = exchange
        self.response = response
        self.file = file
    }
}

extension Run {
    /// Whether a retrier has to be asked about the status of an acceptable response.
    func retriersDecide(_ response: LazyResponse?) -> Bool {
        guard attempt.options.hasRetriers, let status = response?.head.status, status != 200 else { return false }
        return request.retriers.contains { $0.retryableHTTPStatusCodes.contains(status) }
    }

    /// Delivers the response of a held download: moves its file to the destination, and ends the exchange. If that
    /// fails, retriers are asked as about any failure. Returns `nil` if another attempt follows.
    func deliver(_ held: HeldDownload) async -> RunResult? {
        guard !request.isCancelled else {
            let failed = await dropped(held)
            return failed.failing(with: request.cancellation, resumeData: request.producedResumeData)
        }
        request.clearFailure()
        heldDownload = nil
        let (body, failure) = await placed(held.file, of: held.exchange, nil)
        let error = failure.map { located($0, held.exchange, held.response, .none) }
        emitCompletion(error)
        let result = result(of: held.exchange, held.response, body, error)
        guard let error else { return result }
        return await resultUnlessRetried(after: error, result)
    }

    /// Removes the file of the held download, if there is one, and ends its exchange.
    func dropHeldDownload() async {
        guard let held = Swift.exchange(&heldDownload, with: nil) else { return }
        _ = try? await held.file.place(ifAccepted: false)
        _ = held.exchange.state.withLock { $0.replaceBody(by: .none) }
        emitCompletion(nil)
    }

    /// Removes the file of the download, and returns its result without a body.
    func dropped(_ held: HeldDownload) async -> RunResult {
        await dropHeldDownload()
        return result(of: held.exchange, held.response, .none, nil)
    }
}
