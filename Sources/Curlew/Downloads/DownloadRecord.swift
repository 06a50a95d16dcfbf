internal import CurlewCore
internal import Foundation
internal import FoundationNetworking

/// The state of a download across its exchanges, under its lock.
struct DownloadRecord: Sendable {
    /// The part that the next attempt continues. After the last attempt, `resumeData` describes it.
    var part: ResumeData?
    /// The path in the user's resume data, until the file has been checked to be a download's.
    var unexaminedFile: String?
    /// The range that the current exchange asks for.
    var requestedRange = RequestedRange.wholeFile
    /// The file of the current exchange, as resume data; `nil` if it cannot be continued.
    var currentPart: ResumeData?
    /// The segments of that file; `nil` if it is fetched in one piece.
    var currentSegments: SegmentProgress?
    /// The request as described, without the fields that resuming adds.
    var described: DescribedDownload?
    /// Whether the last response was useless, so that the request is sent again at once, for the whole file.
    var asksAgain = false
    /// Whether `cancel(producingResumeData: true)` or its closure form has been called, before or after `cancel()`.
    var keepsPartOnCancel = false
    var onResumeData: [@Sendable (Data?) -> Void] = []
    /// The lane on which those closures are called; `nil` before the first one is added.
    var resumeDataLane: FileLane?
    /// Whether the run has begun to call those closures. A later closure is called by `cancel` itself.
    var hasToldResumeData = false

    /// The calls that read the file.
    var reading = FileReading()

    /// The download's entry in the session's journal.
    var note: JournalNote?

    // The user's requirements.
    var checksums: [Checksum] = []
    var segments = 1
    /// The error for a malformed checksum, reported when the request runs.
    var flaw: CurlewError?

    init(part: ResumeData? = nil) { self.part = part }
}

/// The facts that must match for two exchanges to fetch the same file.
struct DescribedDownload: Sendable {
    let url: URL
    let method: HTTPMethod
    let headers: HTTPHeaders
    /// Whether the request has neither a body nor a range of the user. Only such a response can be continued.
    let isPlain: Bool

    /// Leaves out `sensitiveHeaders`, because the fields are written to disk.
    init?(_ request: URLRequest, sensitiveHeaders: [String]) {
        guard let url = request.url else { return nil }
        self.url = url
        method = request.httpMethod.map(HTTPMethod.init(rawValue:)) ?? .get
        var headers = HTTPHeaders(request.allHTTPHeaderFields ?? [:])
        let hasBody = request.httpBody?.isEmpty == false || request.httpBodyStream != nil
        isPlain = method == .get && !hasBody && !headers.contains(name: "Range")
        for name in sensitiveHeaders { headers.remove(name: name) }
        self.headers = headers
    }

    /// Whether `part` is of this file. The query may differ: a signed URL gets a new one each time, and the validator
    /// decides in the end.
    func isFile(of part: ResumeData) -> Bool {
        isPlain && url.scheme == part.url.scheme && url.host() == part.url.host() && url.port == part.url.port
            && url.path() == part.url.path()
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

    init(_ record: DownloadRecord, for described: DescribedDownload?) {
        guard let described, described.isPlain else {
            self = .wholeFile
            return
        }
        guard let part = record.part, described.isFile(of: part) else {
            self = record.segments > 1 ? .probe : .wholeFile
            return
        }
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
    /// If the file may be complete, its last byte is fetched again. The response then is a part like any other, and not
    /// an error about a range that does not exist.
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
