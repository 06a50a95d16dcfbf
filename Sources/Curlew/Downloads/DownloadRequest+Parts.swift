internal import CurlewCore
internal import CurlewLocks
public import Foundation
internal import FoundationNetworking

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
        let (lane, isLate) = download.withLock { record in
            record.keepsPartOnCancel = true
            record.onResumeData.append(completionHandler)
            let lane = record.resumeDataLane ?? FileLane.next()
            record.resumeDataLane = lane
            return (lane, record.hasToldResumeData)
        }
        cancel()
        // The run calls the closure, unless it has ended or has already told all closures that it found.
        if isLate || record.withLock({ $0.lifecycle.result != nil }) { lane.enqueue { [self] in callOnResumeData() } }
        return self
    }

    /// Calls the closures that wait for resume data, and returns after them. Closures that another caller has already
    /// removed from the record are being called on the same lane, so they too have returned by then.
    func tellResumeData() async {
        let lane = download.withLock { record in
            record.hasToldResumeData = true
            return record.resumeDataLane
        }
        await lane?.carryOut { [self] in callOnResumeData() }
    }

    private func callOnResumeData() {
        let closures = download.withLock { exchange(&$0.onResumeData, with: []) }
        guard !closures.isEmpty else { return }
        let data = resumeData
        for closure in closures { closure(data) }
    }
}

// The part that an exchange of a download leaves for the next one.
extension DownloadRequest {
    /// Returns the request of the next attempt. It asks for the rest if an earlier attempt has left a part of the file.
    func resuming(_ described: URLRequest) throws(CurlewError) -> URLRequest {
        examinePart()
        let sensitive = context.configuration.redirects.sensitiveHeaders
        let download = DescribedDownload(described, sensitiveHeaders: sensitive)
        let fields = try self.download.withLock { record throws(CurlewError) -> [HTTPHeader] in
            if let flaw = record.flaw { throw flaw }
            record.described = download
            record.currentPart = nil
            record.currentSegments = nil
            record.requestedRange = RequestedRange(record, for: download)
            return record.requestedRange.headers
        }
        var request = described
        for field in fields { request.setValue(field.value, forHTTPHeaderField: field.name) }
        return request
    }

    /// Checks the part from the user before anything is requested. The fate of its file must not depend on a server's
    /// response.
    private func examinePart() {
        guard let path = download.withLock({ exchange(&$0.unexaminedFile, with: nil) }) else { return }
        do throws(CurlewError) { _ = try PartialFile.open(path, isFromOutside: true) } catch {
            download.withLock { record in
                record.part = nil
                record.flaw = error
            }
        }
    }

    /// Returns the range that an exchange with this request asks for. An adapter may have changed it.
    func requestedRange(of request: URLRequest?) -> RequestedRange {
        let requestedRange = download.withLock { $0.requestedRange }
        let range = requestedRange.headers.first { $0.name == "Range" }?.value
        return range == request?.value(forHTTPHeaderField: "Range") ? requestedRange : .wholeFile
    }

    /// Discards the part and starts over, because the response neither continues nor replaces it. The returned error
    /// ends the exchange but never the request. The part is discarded on `lane`; the exchange waits for its work.
    func askAgain(on lane: FileLane) -> CurlewError {
        let gone = download.withLock { record in
            record.asksAgain = true
            // A server without proper ranges is not asked for segments again.
            if case .probe = record.requestedRange { record.segments = 1 }
            return exchange(&record.part, with: nil)
        }
        if let gone { lane.enqueue { DownloadFile.reopen(gone.file, keeping: 0)?.discard() } }
        return CurlewError(.resumeRejected, phase: .receive, reason: "the download starts over")
    }

    /// Records the file of a body that is about to be written. Called on a file lane.
    func recordFile(of step: DownloadStep, _ head: ResponseHead, total: Int64, in file: URL) {
        let old = download.withLock { record -> ResumeData? in
            switch step {
            case .unrelated: return nil
            case .rest(let part, _), .nothing(let part):
                record.currentPart = part
                record.currentPart?.expectedTotal = total >= 0 ? total : nil
                return nil
            case .segment(_, let progress, of: let part?):
                record.currentPart = part
                record.currentSegments = progress
                return nil
            case .segment(_, let progress, of: nil):
                let plan = progress.current
                record.currentPart = record.described?.resumeData(plan.validator, total: plan.total, in: file)
                record.currentSegments = progress
                return exchange(&record.part, with: nil)
            case .wholeFile:
                record.currentPart = record.described.flatMap { described in
                    ResumePlan.validator(of: head, method: described.method, hasBody: !described.isPlain).map {
                        described.resumeData($0, total: total >= 0 ? total : nil, in: file)
                    }
                }
                return exchange(&record.part, with: nil)
            }
        }
        // The body starts at the first byte of the file and does not continue the old part.
        if let old { DownloadFile.reopen(old.file, keeping: 0)?.discard() }
    }

    /// Keeps or discards the file of a failed exchange, which has `received` bytes. Called on a file lane.
    func keepPart(of opened: OpenedDownload, after received: Int64, _ error: CurlewError) {
        if case .unrelated = opened.step { return opened.discard() }
        let isKept = download.withLock { record in
            record.part = nil
            let segments = exchange(&record.currentSegments, with: nil)?.current
            guard var part = exchange(&record.currentPart, with: nil), !record.asksAgain,
                error.code == .cancelled ? record.keepsPartOnCancel : error.leavesGoodBytes
            else { return false }
            part.bytesWritten = segments?.bytesWritten ?? received
            part.segments = segments?.segments
            guard part.bytesWritten > 0 else { return false }
            record.part = part
            return true
        }
        if isKept { opened.file.keep() } else { opened.discard() }
    }

    /// Discards the file of a response that was found unacceptable. Called on a file lane.
    func discard(_ opened: OpenedDownload) {
        opened.discard()
        if case .unrelated = opened.step { return }
        forgetPart()
    }

    /// Settles a download for which an error page was accepted instead of the rest. Called on a file lane.
    ///
    /// If the request's own validations have accepted the page, the part is discarded. Without validations the status
    /// was not judged: a part from the resume data that the user passed remains for another attempt. A part of an
    /// earlier attempt is discarded, because nothing else refers to it.
    func acceptErrorPage() {
        let part = download.withLock { exchange(&$0.part, with: nil) }
        forgetPart()
        guard let part, hasOwnRules || !began(with: part) else { return }
        DownloadFile.reopen(part.file, keeping: 0)?.discard()
    }

    private func began(with part: ResumeData) -> Bool {
        guard case .resumeData(let data) = downloadable, let given = try? ResumeData(data) else { return false }
        return given.file == part.file
    }

    /// Forgets the part and the current file, because there is nothing left to continue.
    func forgetPart() {
        download.withLock { record in
            record.part = nil
            record.currentPart = nil
            record.currentSegments = nil
        }
    }
}

extension DescribedDownload {
    fileprivate func resumeData(_ validator: EntityValidator, total: Int64?, in file: URL) -> ResumeData {
        ResumeData(
            url: url,
            headers: headers,
            validator: validator,
            bytesWritten: 0,
            expectedTotal: total,
            file: file.path(percentEncoded: false)
        )
    }
}

extension CurlewError {
    /// Whether the bytes received before the error are worth keeping.
    fileprivate var leavesGoodBytes: Bool {
        if code == .unacceptableStatus, phase == .validation { return true }
        return isConnectivity || isTimeout || isTLS || code == .protocolViolation || code == .truncated
    }

    /// Thrown instead of writing the surplus, which would overwrite bytes of the next part.
    static var partIsTooLong: CurlewError {
        CurlewError(.protocolViolation, phase: .receive, reason: "a part is longer than it said")
    }

    static func downloadFailed(_ error: any Error) -> CurlewError {
        CurlewError(.moveFailed, phase: .file, reason: "the file could not be opened", underlying: error)
    }
}
