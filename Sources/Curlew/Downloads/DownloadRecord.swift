internal import CurlewCore
internal import Foundation
internal import FoundationNetworking

/// What a download remembers from one exchange to the next, behind its lock.
struct DownloadRecord: Sendable {
    /// What the next try goes on with, and what `resumeData` is made of when there is none.
    var part: ResumeData?
    /// The file of a part that came from outside, until it was seen to be a download's.
    var unexaminedFile: String?
    /// What the exchange in flight asks for.
    var asking = DownloadAsking.wholeFile
    /// The exchange in flight, as far as it could be continued.
    var growing: ResumeData?
    /// Its segments, where it has some.
    var growingSegments: SegmentProgress?
    /// The request as described, without what resuming adds.
    var described: DescribedDownload?
    /// The server gave nothing that could be used: the next try asks for the whole file, at once.
    var asksAgain = false
    /// `cancel(producingResumeData: true)`, or its closure form, came first.
    var keepsPartOnCancel = false
    var onResumeData: [@Sendable (Data?) -> Void] = []
    /// Where those are called; nil where there never were any.
    var resumeDataLane: FileLane?

    /// Who reads the file.
    var reading = FileReading()

    /// The download's place in the session's journal.
    var note: JournalNote?

    // What was asked for.
    var checksums: [Checksum] = []
    var segments = 1
    /// A checksum that is none, told when the request runs.
    var flaw: CurlewError?

    init(part: ResumeData? = nil) { self.part = part }
}

/// What must be the same for two exchanges to fetch the same file.
struct DescribedDownload: Sendable {
    let url: URL
    let method: HTTPMethod
    let headers: HTTPHeaders
    /// A body, or a range of the user's own: such a response cannot be continued.
    let isPlain: Bool

    /// `sensitiveHeaders` are left out, because the rest is written to disk.
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

    /// Whether it is the file that `part` is of. The query may differ: signed URLs get a new one each time,
    /// and the validator decides in the end.
    func isFile(of part: ResumeData) -> Bool {
        isPlain && url.scheme == part.url.scheme && url.host() == part.url.host() && url.port == part.url.port
            && url.path() == part.url.path()
    }
}

/// What an exchange asks for.
enum DownloadAsking: Sendable {
    case wholeFile
    /// What an earlier exchange has left over.
    case rest(of: ResumeData)
    /// The beginning, to find out whether the file can be divided.
    case probe
    /// The first unfinished one of an earlier exchange's segments.
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
        // Of a complete file one byte is asked for again: the answer is a part like any other.
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
    /// One byte that is there already is asked for once more where the file may be complete: the server's
    /// answer then is a part like any other, and not an error about a range that does not exist.
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
