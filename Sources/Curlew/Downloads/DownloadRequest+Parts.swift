internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

// What the exchanges of a download leave for the next one.
extension DownloadRequest {
    /// The request of the next try: for the rest, where an earlier one has left a beginning of this file.
    func resuming(_ described: URLRequest) throws(CurlewError) -> URLRequest {
        let download = DescribedDownload(described)
        let part = try self.download.withLock { record throws(CurlewError) -> ResumeData? in
            if let flaw = record.flaw { throw flaw }
            record.described = download
            record.growing = nil
            guard let part = record.part, download?.isFile(of: part) == true else { return nil }
            return part
        }
        guard let part else { return described }
        var request = described
        for field in ResumePlan(part).headers { request.setValue(field.value, forHTTPHeaderField: field.name) }
        return request
    }

    /// What the exchange for that request asks for the rest of.
    func asked(by request: URLRequest?) -> ResumeData? {
        let part = download.withLock { $0.part }
        guard let part, request?.value(forHTTPHeaderField: "Range") == ResumePlan(part).headers.first?.value else {
            return nil
        }
        return part
    }

    /// Neither what is there nor this response is of use. The error ends the exchange, never the request.
    func askAgain() -> CurlewError {
        let gone = download.withLock { record in
            record.asksAgain = true
            return exchange(&record.part, with: nil)
        }
        if let gone { FileLane.next().enqueue { DownloadFile.reopen(gone.file, keeping: 0)?.discard() } }
        return CurlewError(.resumeRejected, phase: .receive, reason: "the download starts over")
    }

    /// A body is about to be written. On a file lane.
    func begins(_ step: DownloadStep, _ head: ResponseHead, total: Int64, in file: URL) {
        let old = download.withLock { record -> ResumeData? in
            switch step {
            case .aside: return nil
            case .rest(let part, _), .nothing(let part):
                record.growing = part
                record.growing?.expectedTotal = total >= 0 ? total : nil
                return nil
            case .wholeFile:
                record.growing = record.described.flatMap { described in
                    ResumePlan.validator(of: head, method: described.method, hasBody: !described.isPlain).map {
                        ResumeData(
                            url: described.url,
                            headers: described.headers,
                            validator: $0,
                            bytesWritten: 0,
                            expectedTotal: total >= 0 ? total : nil,
                            file: file.path(percentEncoded: false)
                        )
                    }
                }
                return exchange(&record.part, with: nil)
            }
        }
        // The server has begun again, and so does the file.
        if let old { DownloadFile.reopen(old.file, keeping: 0)?.discard() }
    }

    /// The exchange has failed after so many bytes of the file. On a file lane.
    func broke(_ opened: OpenedDownload, after received: Int64, _ error: CurlewError) {
        if case .aside = opened.step { return opened.discard() }
        let isKept = download.withLock { record in
            record.part = nil
            guard var part = exchange(&record.growing, with: nil), received > 0,
                error.code == .cancelled ? record.keepsPartOnCancel : error.leavesGoodBytes
            else { return false }
            part.bytesWritten = received
            record.part = part
            return true
        }
        if isKept { opened.file.keep() } else { opened.discard() }
    }

    /// The response was found unacceptable. On a file lane.
    func rejected(_ opened: OpenedDownload) {
        opened.discard()
        if case .aside = opened.step { return }
        settled()
    }

    /// There is nothing any more that could be continued.
    func settled() {
        download.withLock { record in
            record.part = nil
            record.growing = nil
        }
    }
}

extension CurlewError {
    /// Whether the bytes that came before it are worth keeping.
    fileprivate var leavesGoodBytes: Bool {
        isConnectivity || isTimeout || isTLS || code == .protocolViolation || code == .truncated
    }

    static func downloadFailed(_ error: any Error) -> CurlewError {
        CurlewError(.moveFailed, phase: .file, reason: "the file could not be opened", underlying: error)
    }
}
