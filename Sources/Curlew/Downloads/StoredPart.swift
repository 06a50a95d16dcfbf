internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

/// The part of a download's file that is on disk.
///
///     unexamined ─▶ left ─── the body continues it ──▶ growing ─── the exchange fails ─────────────▶ left
///                   none ─── a body begins ──────────▶ growing ─── complete, rejected or useless ──▶ none
///
/// An exchange gives up the part when its delegate is closed and its file is placed. The next attempt begins after
/// that, so it never finds a growing part.
enum StoredPart: Sendable {
    /// There is nothing to continue. The current exchange may still write a file, which cannot be continued.
    case none
    /// The user's resume data names it. Its file has to be examined before anything is requested.
    case unexamined(ResumeData)
    /// An earlier exchange has left it, and the next attempt continues it. After the last attempt, `resumeData`
    /// describes the part.
    case left(ResumeData)
    /// The current exchange writes to its file, and keeps or removes it in the end.
    case growing(GrowingPart)

    /// The part that an exchange can continue; `nil` while one writes to its file.
    var resumable: ResumeData? {
        switch self {
        case .none, .growing: nil
        case .unexamined(let part), .left(let part): part
        }
    }

    var growing: GrowingPart? {
        switch self {
        case .none, .unexamined, .left: nil
        case .growing(let part): part
        }
    }

    /// Forgets the part. Returns it if its file has to be removed. The exchange itself removes the file of a growing
    /// part.
    mutating func discard() -> ResumeData? { exchange(&self, with: .none).resumable }

    /// Records the beginning of a body that is written to `file`. Returns a part whose file has to be removed, because
    /// the body starts at the first byte of the file and does not continue it.
    mutating func begin(
        _ step: DownloadStep,
        _ head: ResponseHead,
        total: Int64?,
        in file: URL,
        of described: DescribedDownload?
    ) -> ResumeData? {
        switch step {
        case .errorPage: return nil
        case .rest(let part, _), .alreadyComplete(let part):
            var data = part
            data.expectedTotal = total
            self = .growing(GrowingPart(data))
            return nil
        case .segment(_, let progress, of: let part?):
            self = .growing(GrowingPart(part, progress))
            return nil
        case .segment(_, let progress, of: nil):
            let (old, plan) = (resumable, progress.current)
            let data = described?.resumeData(plan.validator, total: plan.total, in: file)
            self = data.map { .growing(GrowingPart($0, progress)) } ?? .none
            return old
        case .wholeFile:
            let old = resumable
            let data = described.flatMap { described in
                ResumePlan.validator(of: head, method: described.method, hasBody: !described.isPlain).map {
                    described.resumeData($0, total: total, in: file)
                }
            }
            self = data.map { .growing(GrowingPart($0)) } ?? .none
            return old
        }
    }

    /// Records the end of a failed exchange. `received` is the number of bytes in the file, including those of earlier
    /// exchanges. Returns whether the file has to be kept: it has bytes to continue, and it `isWanted`.
    mutating func end(after received: Int64, isWanted: Bool) -> Bool {
        guard case .growing(let part) = self else { return false }
        let data = part.data(with: received)
        let isKept = isWanted && data.bytesWritten > 0
        self = isKept ? .left(data) : .none
        return isKept
    }
}

/// A part whose file the current exchange writes.
struct GrowingPart: Sendable {
    /// The resume data at the beginning of the exchange.
    private let start: ResumeData
    /// The segments of the file; `nil` if it is fetched in one piece.
    private let segments: SegmentProgress?

    init(_ start: ResumeData, _ segments: SegmentProgress? = nil) {
        self.start = start
        self.segments = segments
    }

    /// The number of bytes that were on disk when the exchange began.
    var bytesAtStart: Int64 { start.bytesWritten }

    /// The resume data for the journal. It is written before the bytes of the exchange, so after a crash the length of
    /// the file decides. A file of segments has holes, so its segments count their bytes.
    var journalData: ResumeData { data(with: bytesAtStart) }

    /// Returns the resume data for the first `received` bytes of the file. Segments ignore `received` and count their
    /// bytes.
    func data(with received: Int64) -> ResumeData {
        var data = start
        guard let plan = segments?.current else {
            data.bytesWritten = received
            return data
        }
        data.bytesWritten = plan.bytesWritten
        data.segments = plan.segments
        return data
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

    /// Checks the user's part before anything is requested, so that a server's response cannot decide whether another
    /// file is removed.
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

    /// The error of an exchange whose response neither continues nor replaces the part on disk. Monitors see it; the
    /// request does not fail with it, unless it is cancelled, because it starts over.
    static var downloadStartsOver: CurlewError {
        CurlewError(.resumeRejected, phase: .receive, reason: "the download starts over")
    }

    static func downloadFailed(_ error: any Error) -> CurlewError {
        CurlewError(.moveFailed, phase: .file, reason: "the file could not be opened", underlying: error)
    }
}
