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
        if shouldProduceResumeData { download.withLock { $0.onCancel.keepPart() } }
        return cancel()
    }

    /// Cancels the download and passes the resume data to a closure; `nil` if the download cannot be continued.
    ///
    /// The closure is called once, on an internal queue, before response handlers.
    @discardableResult
    public func cancel(byProducingResumeData completionHandler: @escaping @Sendable (_ data: Data?) -> Void) -> Self {
        let (lane, isLate) = download.withLock { record in
            (record.onCancel.add(completionHandler), record.hasToldResumeData)
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
            return record.onCancel.lane
        }
        await lane?.carryOut { [self] in callOnResumeData() }
    }

    private func callOnResumeData() {
        let closures = download.withLock { $0.onCancel.takeClosures() }
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
        let fields = try download.withLock { record throws(CurlewError) -> [HTTPHeader] in
            if let error = record.configurationError { throw error }
            record.described = DescribedDownload(
                described,
                sensitiveHeaders: sensitive,
                continuing: record.part.resumable,
                segments: record.segments
            )
            return record.described?.range.headers ?? []
        }
        var request = described
        for field in fields { request.setValue(field.value, forHTTPHeaderField: field.name) }
        return request
    }

    /// Checks the part from the user before anything is requested. The fate of its file must not depend on a server's
    /// response.
    private func examinePart() {
        let path = download.withLock { record -> String? in
            guard case .unexamined(let part) = record.part else { return nil }
            record.part = .left(part)
            return part.file
        }
        guard let path else { return }
        do throws(CurlewError) { _ = try PartialFile.open(path, isFromOutside: true) } catch {
            download.withLock { record in
                record.part = .none
                record.configurationError = error
            }
        }
    }

    /// Returns the range that an exchange with this request asks for. An adapter may have changed it.
    func requestedRange(of request: URLRequest?) -> RequestedRange {
        let requestedRange = download.withLock { $0.described?.range } ?? .wholeFile
        let range = requestedRange.headers.first { $0.name == "Range" }?.value
        return range == request?.value(forHTTPHeaderField: "Range") ? requestedRange : .wholeFile
    }

    /// Records the file of a body that is about to be written. Called on a file lane.
    func recordFile(of step: DownloadStep, _ head: ResponseHead, total: Int64, in file: URL) {
        let old = download.withLock { record in
            record.part.begin(step, head, total: total >= 0 ? total : nil, in: file, of: record.described)
        }
        old?.removeFile()
    }
}

extension CurlewError {
    /// Thrown instead of writing the surplus, which would overwrite bytes of the next part.
    static var partIsTooLong: CurlewError {
        CurlewError(.protocolViolation, phase: .receive, reason: "a part is longer than it said")
    }

    /// The error of an exchange whose response is useless, and so is the part on disk. Monitors see it; the request does
    /// not fail with it, unless it is cancelled, because it starts over.
    static var downloadStartsOver: CurlewError {
        CurlewError(.resumeRejected, phase: .receive, reason: "the download starts over")
    }

    static func downloadFailed(_ error: any Error) -> CurlewError {
        CurlewError(.moveFailed, phase: .file, reason: "the file could not be opened", underlying: error)
    }
}
