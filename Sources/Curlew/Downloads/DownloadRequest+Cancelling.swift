internal import CurlewLocks
public import Foundation

// `cancel()` leaves no file. These methods keep the received part if it can be continued: the server must have
// identified the version of the file by a strong entity tag or a date, and sent it without a content coding.
extension DownloadRequest {
    /// Cancels the download, and keeps the received part for a later request if that is asked for.
    ///
    /// The data is in `resumeData`, and in the response, when the request has ended.
    @discardableResult
    public func cancel(producingResumeData shouldProduceResumeData: Bool) -> Self {
        if shouldProduceResumeData { download.withLock { $0.keepsPartOnCancel = true } }
        return cancel()
    }

    /// Cancels the download and passes the resume data to a closure; `nil` if the download cannot be continued.
    ///
    /// The closure is called once, on an internal queue, before response handlers.
    @discardableResult
    public func cancel(byProducingResumeData completionHandler: @escaping @Sendable (_ data: Data?) -> Void) -> Self {
        download.withLock { record in
            record.keepsPartOnCancel = true
            record.onResumeData.append(completionHandler)
            record.resumeDataLane = record.resumeDataLane ?? FileLane.next()
        }
        cancel()
        // An ended request has no run that would call the closure.
        if record.withLock({ $0.lifecycle.result != nil }) {
            download.withLock { $0.resumeDataLane }?.enqueue { [self] in callOnResumeData() }
        }
        return self
    }

    /// Returns when the closures that wait for resume data have been called. All of them are called on one lane, so
    /// work that is enqueued there afterwards follows them, even if another caller's turn has called them.
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
