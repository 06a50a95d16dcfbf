public import CurlewCore
internal import CurlewLocks
internal import Foundation

/// The state of a download across its exchanges, under its lock.
///
///     DownloadRequest
///      ├ DownloadRecord            for the whole download
///      │  ├ StoredPart             the received part on disk: its path, length and validator
///      │  └ JournalState           their entry in the session's journal
///      └ DownloadTaskDelegate      for one exchange
///         ├ RequestedRange         the range that it asks for; from the head follows a `BodyRole`
///         └ ResponseFile           the file of the body, and the position in it
///            └ OpenedDownload      made by `DownloadOpening` after the head: the file's destination and digests
///               └ TemporaryFile    removes the file unless it is moved or kept
///                  └ OpenFile      the descriptor, and the lock on the file
///
/// After the last byte a `CompleteDownload` has the `OpenedDownload` until the validations have decided. Between two
/// exchanges no file is open: the next one finds the part at its path, as a `PartialFile`. The table at the top of
/// `DownloadEnds.swift` has all ends of the files.
struct DownloadRecord: Sendable {
    /// The part of the file that is on disk.
    var part: StoredPart
    /// The request of the current attempt; `nil` before the first one.
    var described: DescribedDownload?
    var onCancel = PartOnCancel.discard
    /// Whether the run has begun to call the closures that wait for resume data. `cancel` itself calls a closure that
    /// is added later.
    var hasDeliveredResumeData = false
    /// The calls that read the file.
    var reading = FileReading()
    /// The download's entry in the session's journal; `nil` before the first one is written.
    var journalState: JournalState?

    // The user's requirements.
    var checksums: [Checksum] = []
    /// The number of segments to divide the file into. 1 if the server has shown that it cannot send segments.
    var segments = 1
    /// The error for a malformed checksum or unusable resume data. The request fails with it when it runs.
    var configurationError: CurlewError?

    init(_ part: StoredPart = .none) { self.part = part }
}

/// The part of a download's file that is on disk.
///
///     unexamined ─▶ kept ─── the body continues it ──▶ growing ─── the exchange fails ────────────────────▶ kept
///                   none ─── a body begins ──────────▶ growing ─── complete, rejected or starting over ───▶ none
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
    case kept(ResumeData)
    /// The current exchange writes to its file, and keeps or removes it in the end.
    case growing(GrowingPart)

    /// The part that an exchange can continue; `nil` while one writes to its file.
    var resumable: ResumeData? {
        switch self {
        case .none, .growing: nil
        case .unexamined(let part), .kept(let part): part
        }
    }

    var growing: GrowingPart? {
        switch self {
        case .none, .unexamined, .kept: nil
        case .growing(let part): part
        }
    }

    /// Forgets the part. Returns it if its file has to be removed. The exchange itself removes the file of a growing
    /// part.
    mutating func discard() -> ResumeData? { exchange(&self, with: .none).resumable }

    /// Records the beginning of a body that is written to `file`, whose length will be `total` if the server has stated
    /// it. Returns a part whose file has to be removed, because the body starts at the first byte of the file and does
    /// not continue it.
    mutating func begin(
        _ role: BodyRole,
        _ head: ResponseHead,
        total: Int64?,
        in file: URL,
        of described: DescribedDownload?
    ) -> ResumeData? {
        switch role {
        case .errorPage: return nil
        case .rest(let part, _), .alreadyComplete(let part):
            self = .growing(GrowingPart(part))
            return nil
        case .segment(_, let progress, of: let part?):
            self = .growing(GrowingPart(part, progress))
            return nil
        case .segment(_, let progress, of: nil):
            let plan = progress.current
            let data = described?.resumeData(plan.validator, total: plan.total, in: file)
            return replace(by: data.map { GrowingPart($0, progress) })
        case .wholeFile:
            let data = described.flatMap { described in
                ResumePlan.validator(of: head, method: described.method, hasBody: !described.isPlain).map {
                    described.resumeData($0, total: total, in: file)
                }
            }
            return replace(by: data.map { GrowingPart($0) })
        }
    }

    /// Begins a file that does not continue the part; `new` is `nil` if nothing can continue it later. Returns the part
    /// if its file has to be removed.
    private mutating func replace(by new: GrowingPart?) -> ResumeData? {
        let old = discard()
        if let new { self = .growing(new) }
        return old
    }

    /// Records the end of a failed exchange. `received` is the number of bytes in the file, including those of earlier
    /// exchanges. Returns whether the file has to be kept: it has bytes to continue, and it `isWanted`.
    mutating func end(after received: Int64, isWanted: Bool) -> Bool {
        guard case .growing(let part) = self else { return false }
        let data = part.data(with: received)
        let isKept = isWanted && data.bytesWritten > 0
        self = isKept ? .kept(data) : .none
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

extension DownloadRequest {
    /// Demands that the file has this checksum, in hexadecimal digits.
    ///
    ///     try await session.download(url, to: destination).checksum(.sha256, "9f86d0…").file()
    ///
    /// The checksum is computed while the bytes are written, and for a resumed download also over the earlier ones. A
    /// file with another checksum is `.validationFailed` and is never moved to its destination. Of several checksums,
    /// all must match.
    @discardableResult
    public func checksum(_ algorithm: ChecksumAlgorithm, _ hexadecimal: String) -> Self {
        let checksum = Checksum(algorithm, hex: hexadecimal)
        downloadRecord.withLock { record in
            if let checksum {
                record.checksums.append(checksum)
            } else {
                record.configurationError = CurlewError(
                    .requestCreationFailed,
                    phase: .creation,
                    reason: "a \(algorithm.rawValue) checksum has \(algorithm.byteCount * 2) hexadecimal digits"
                )
            }
        }
        return self
    }
}

/// The fate of the received part when the request is cancelled.
enum PartOnCancel: Sendable {
    typealias Closure = @Sendable (Data?) -> Void

    case discard
    case keep
    /// Also calls the closures with the resume data, on the lane. A closure that has been called is removed.
    case deliver([Closure], on: FileLane)

    var keepsPart: Bool {
        switch self {
        case .discard: false
        case .keep, .deliver: true
        }
    }

    mutating func keepPart() {
        if case .discard = self { self = .keep }
    }

    /// Adds a closure, and returns the lane on which it has to be called.
    mutating func add(_ closure: @escaping Closure) -> FileLane {
        switch self {
        case .discard, .keep:
            let lane = FileLane.next()
            self = .deliver([closure], on: lane)
            return lane
        case .deliver(let closures, let lane):
            self = .deliver(closures + [closure], on: lane)
            return lane
        }
    }

    var lane: FileLane? {
        switch self {
        case .discard, .keep: nil
        case .deliver(_, let lane): lane
        }
    }

    /// Removes and returns the closures that have not been called.
    mutating func takeClosures() -> [Closure] {
        guard case .deliver(let closures, let lane) = self else { return [] }
        self = .deliver([], on: lane)
        return closures
    }
}

/// Counts the calls that read a download's file, to find out whether it can be removed when they have failed.
struct FileReading: Sendable {
    /// The number of calls that are making a value, or wait for the file.
    private var readers = 0
    /// Whether a call could not make its value.
    private var hasFailed = false
    /// Whether the location of the file has been disclosed.
    private var isGivenAway = false

    mutating func begins() { readers += 1 }

    mutating func fails() { hasFailed = true }

    fileprivate mutating func givesAway() { isGivenAway = true }

    /// Ends a call. Returns whether the file can be removed: a call has failed, and no other has got or awaits the
    /// file.
    mutating func ends(withValue: Bool) -> Bool {
        readers -= 1
        // The request's `fileURL` still discloses the location.
        if withValue { isGivenAway = true }
        return readers == 0 && hasFailed && !isGivenAway
    }
}

extension DownloadRequest {
    /// Records that the caller, or a handler, learns the location of the file.
    func givesFileAway() { downloadRecord.withLock { $0.reading.givesAway() } }
}
