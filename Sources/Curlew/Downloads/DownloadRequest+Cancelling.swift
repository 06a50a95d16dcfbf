internal import CurlewLocks
public import Foundation

// `cancel()` leaves nothing behind. These keep what has come, where it can be continued: the server has told
// by a strong entity tag or a date which version of the file it was sending, and sent it as it is.
extension DownloadRequest {
    /// Cancels the download, and keeps what is needed to go on with it later if that is asked for.
    ///
    /// The data is in `resumeData`, and in the response, when the request has ended.
    @discardableResult
    public func cancel(producingResumeData shouldProduceResumeData: Bool) -> Self {
        if shouldProduceResumeData { download.withLock { $0.keepsPartOnCancel = true } }
        return cancel()
    }

    /// Cancels the download and hands over what is needed to go on with it later; nil where that cannot be.
    ///
    /// The closure is called once, on a queue of Curlew's, when the request has ended.
    @discardableResult
    public func cancel(byProducingResumeData completionHandler: @escaping @Sendable (_ data: Data?) -> Void) -> Self {
        download.withLock { record in
            record.keepsPartOnCancel = true
            record.onResumeData.append(completionHandler)
        }
        cancel()
        // Nobody will tell later.
        if record.withLock({ $0.result != nil }) { tellResumeData() }
        return self
    }

    func tellResumeData() {
        let closures = download.withLock { exchange(&$0.onResumeData, with: []) }
        guard !closures.isEmpty else { return }
        let data = resumeData
        FileLane.next().enqueue {
            for closure in closures { closure(data) }
        }
    }
}
