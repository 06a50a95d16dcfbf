internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

/// The range of the file that an attempt asks for. It decides what a response means, because only together with the
/// range that was asked for does a head tell how the body has to be used.
///
///     DescribedDownload ─▶ RequestedRange ─▶ headers of the request
///                                         └▶ role(of: head) ─▶ BodyRole ─▶ the file
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

    /// Returns the role of a response's body. `nil` if the body neither continues nor replaces the part on disk, so that
    /// the download has to start over. A file that can be divided gets `count` segments.
    func role(of head: ResponseHead, dividingInto count: Int) -> BodyRole? {
        switch self {
        case .wholeFile: return .wholeFile
        case .rest(let part): return Self.role(of: head, continuing: part)
        case .probe:
            switch SegmentPlan.decision(forProbe: head) {
            case .divide(let validator, let probed, let total):
                let plan = SegmentPlan(validator: validator, total: total, probed: probed, count: count)
                return .segment(0, SegmentProgress(plan), of: nil)
            case .wholeFile: return .wholeFile
            case .startOver: return nil
            case .errorPage: return .errorPage
            }
        case .segment(let index, let part, let plan):
            switch plan.decision(for: head, segment: index) {
            case .write: return .segment(index, SegmentProgress(plan), of: part)
            case .startOver: return nil
            case .errorPage: return .errorPage
            }
        }
    }

    private static func role(of head: ResponseHead, continuing part: ResumeData) -> BodyRole? {
        let plan = ResumePlan(part)
        var part = part
        switch plan.decision(for: head) {
        case .append(let total):
            part.expectedTotal = total
            return .rest(of: part, at: plan.offset)
        case .wholeFile: return .wholeFile
        case .alreadyComplete:
            part.expectedTotal = part.bytesWritten
            return .alreadyComplete(part)
        case .startOver: return nil
        case .errorPage: return .errorPage
        }
    }
}

extension ResumePlan {
    /// If the file may be complete, its last byte is fetched again: the response is then an ordinary part instead of an
    /// error about a range that does not exist.
    fileprivate init(_ part: ResumeData) {
        let mayBeComplete = part.expectedTotal.map { part.bytesWritten >= $0 } ?? true
        self.init(
            offset: mayBeComplete ? max(0, part.bytesWritten - 1) : part.bytesWritten,
            received: part.bytesWritten,
            validator: part.validator,
            expectedTotal: part.expectedTotal
        )
    }
}

/// The role of a response's body in its download.
enum BodyRole: Sendable {
    /// The body is the file, from its first byte.
    case wholeFile
    /// The body continues the part of an earlier exchange. The part's `expectedTotal` is the length that this response
    /// has confirmed.
    case rest(of: ResumeData, at: Int64)
    /// The body is a segment of the file: of a new file if there is no part.
    case segment(Int, SegmentProgress, of: ResumeData?)
    /// The file was complete before, and the body is an error page.
    case alreadyComplete(ResumeData)
    /// The body is an error page, and is written to a separate file. The part is kept for another attempt.
    case errorPage
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

extension DownloadRequest {
    /// Returns the request of the next attempt. It asks for the rest if an earlier attempt has left a part of the file.
    func resuming(_ described: URLRequest) throws(CurlewError) -> URLRequest {
        try examinePart()
        let sensitive = context.configuration.redirects.sensitiveHeaders
        let fields = try downloadRecord.withLock { record throws(CurlewError) -> [HTTPHeader] in
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

    /// Checks the user's part before anything is requested or removed. The request fails if the resume data names a file
    /// that is not a download's; the file stays as it is.
    ///
    /// Throws if the system refuses to open the file, which may be intact. Another attempt examines it again.
    func examinePart() throws(CurlewError) {
        guard case .unexamined(let part) = downloadRecord.withLock({ $0.part }) else { return }
        do throws(CurlewError) {
            _ = try PartialFile.open(part.file, isFromOutside: true)
            downloadRecord.withLock { $0.part = .kept(part) }
        } catch {
            guard error.isForeignPart else { throw error }
            downloadRecord.withLock { record in
                record.part = .none
                record.configurationError = error
            }
        }
    }

    /// Returns the range that an exchange with this request asks for. An adapter may have changed it.
    func requestedRange(of request: URLRequest?) -> RequestedRange {
        let requestedRange = downloadRecord.withLock { $0.described?.range } ?? .wholeFile
        let range = requestedRange.headers.first { $0.name == "Range" }?.value
        return range == request?.value(forHTTPHeaderField: "Range") ? requestedRange : .wholeFile
    }
}
