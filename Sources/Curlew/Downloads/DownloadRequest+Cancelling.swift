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
    /// The closure is called once, on a queue of Curlew's, before response handlers are.
    @discardableResult
    public func cancel(byProducingResumeData completionHandler: @escaping @Sendable (_ data: Data?) -> Void) -> Self {
        download.withLock { record in
            record.keepsPartOnCancel = true
            record.onResumeData.append(completionHandler)
            record.resumeDataLane = record.resumeDataLane ?? FileLane.next()
        }
        cancel()
        // There may be no run that would do it.
        if record.withLock({ $0.run.result != nil }) {
            download.withLock { $0.resumeDataLane }?.enqueue { [self] in callOnResumeData() }
        }
        return self
    }

    /// Returns when the closures that wait for resume data have been called. All of them are called on one lane: what is
    /// enqueued there after one caller's turn comes after the closures, whichever caller it was that called them.
    func tellResumeData() async {
        await download.withLock { $0.resumeDataLane }?.carryOut { [self] in callOnResumeData() }
    }

    private func callOnResumeData() {
        let closures = download.withLock { exchange(&$0.onResumeData, with: []) }
        guard !closures.isEmpty else { return }
        let data = resumeData
        for closure in closures { closure(data) }
    }
}
