internal import CurlewCore
internal import Foundation
internal import FoundationNetworking

/// The state of a download across its exchanges, under its lock.
struct DownloadRecord: Sendable {
    /// The part of the file that is on disk.
    var part: StoredPart
    /// The request of the current attempt; `nil` before the first one.
    var described: DescribedDownload?
    var onCancel = PartOnCancel.discard
    /// Whether the run has begun to call the closures that wait for resume data. `cancel` itself calls a closure that
    /// is added later.
    var hasToldResumeData = false
    /// The calls that read the file.
    var reading = FileReading()
    /// The download's entry in the session's journal; `nil` before the first one is written.
    var journal: JournalState?

    // The user's requirements.
    var checksums: [Checksum] = []
    /// The number of segments to divide the file into. 1 if the server has shown that it cannot send segments.
    var segments = 1
    /// The error for a malformed checksum or unusable resume data. The request fails with it when it runs.
    var configurationError: CurlewError?

    init(_ part: StoredPart = .none) { self.part = part }
}

/// The fate of the received part when the request is cancelled.
enum PartOnCancel: Sendable {
    typealias Closure = @Sendable (Data?) -> Void

    case discard
    case keep
    /// Also calls the closures with the resume data, on the lane. A closure that has been called is removed.
    case tell([Closure], on: FileLane)

    var keepsPart: Bool {
        switch self {
        case .discard: false
        case .keep, .tell: true
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
            self = .tell([closure], on: lane)
            return lane
        case .tell(let closures, let lane):
            self = .tell(closures + [closure], on: lane)
            return lane
        }
    }

    var lane: FileLane? {
        switch self {
        case .discard, .keep: nil
        case .tell(_, let lane): lane
        }
    }

    /// Removes and returns the closures that have not been called.
    mutating func takeClosures() -> [Closure] {
        guard case .tell(let closures, let lane) = self else { return [] }
        self = .tell([], on: lane)
        return closures
    }
}

/// The request of an attempt before resuming adds fields to it, and the range that it asks for.
struct DescribedDownload: Sendable {
    let url: URL
    let method: HTTPMethod
    let headers: HTTPHeaders
    /// Whether the request has neither a body nor a range of the user. Only such a response can be continued.
    let isPlain: Bool
    let range: RequestedRange

    /// Leaves out `sensitiveHeaders`, because the fields are written to disk. The range is the rest of `part` if that
    /// belongs to this file.
    init?(_ request: URLRequest, sensitiveHeaders: [String], continuing part: ResumeData?, segments: Int) {
        guard let url = request.url else { return nil }
        self.url = url
        method = request.httpMethod.map(HTTPMethod.init(rawValue:)) ?? .get
        var headers = HTTPHeaders(request.allHTTPHeaderFields ?? [:])
        let hasBody = request.httpBody?.isEmpty == false || request.httpBodyStream != nil
        isPlain = method == .get && !hasBody && !headers.contains(name: "Range")
        for name in sensitiveHeaders { headers.remove(name: name) }
        self.headers = headers
        if !isPlain {
            range = .wholeFile
        } else if let part, Self.isSameFile(url, part.url) {
            range = RequestedRange(continuing: part)
        } else {
            range = segments > 1 ? .probe : .wholeFile
        }
    }

    /// Returns whether two URLs name one file. The query may differ: a signed URL gets a new one each time, and the
    /// validator detects another file.
    private static func isSameFile(_ url: URL, _ other: URL) -> Bool {
        url.scheme == other.scheme && url.host() == other.host() && url.port == other.port
            && url.path() == other.path()
    }

    /// Returns resume data without received bytes.
    func resumeData(_ validator: EntityValidator, total: Int64?, in file: URL) -> ResumeData {
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

/// The range of the file that an exchange asks for.
enum RequestedRange: Sendable {
    case wholeFile
    /// The rest after an earlier exchange.
    case rest(of: ResumeData)
    /// The beginning, to find out whether the file can be divided.
    case probe
    /// The first unfinished segment of an earlier exchange.
    case segment(Int, of: ResumeData, SegmentPlan)

    init(continuing part: ResumeData) {
        guard let segments = part.segments, let total = part.expectedTotal else {
            self = .rest(of: part)
            return
        }
        var plan = SegmentPlan(validator: part.validator, total: total, segments: segments)
        let index = segments.firstIndex { !$0.isComplete }
        // One byte of a complete file is fetched again, so that the response is a part like any other.
        let chosen = index ?? max(0, segments.count - 1)
        if index == nil { plan.forgetLastByte() }
        self = .segment(chosen, of: part, plan)
    }

    var headers: [HTTPHeader] {
        switch self {
        case .wholeFile: []
        case .rest(let part): ResumePlan(part).headers
        case .probe: SegmentPlan.probeHeaders()
        case .segment(let index, _, let plan): plan.headers(forSegment: index) ?? []
        }
    }
}

extension ResumePlan {
    /// If the file may be complete, its last byte is fetched again: the response is then an ordinary part instead of an
    /// error about a range that does not exist.
    init(_ part: ResumeData) {
        let mayBeComplete = part.expectedTotal.map { part.bytesWritten >= $0 } ?? true
        self.init(
            offset: mayBeComplete ? max(0, part.bytesWritten - 1) : part.bytesWritten,
            have: part.bytesWritten,
            validator: part.validator,
            expectedTotal: part.expectedTotal
        )
    }
}
