/// Decides how one file is fetched by several concurrent requests.
///
/// The first request asks for the beginning of the file only. Its response tells whether the server supports ranges,
/// and gives the length and the version of the file. Then the rest is divided. The requests do not overlap, and a small
/// file is complete with the first response.
package struct SegmentPlan: Sendable, Hashable {
    package let validator: EntityValidator
    package let total: Int64
    package private(set) var segments: [FileSegment]

    /// The smallest segment. For a smaller one, another request costs more than it gains.
    package static let minimumSegment: Int64 = 1024 * 1024

    /// Continues with the segments of an earlier download.
    package init(validator: EntityValidator, total: Int64, segments: [FileSegment]) {
        self.validator = validator
        self.total = total
        self.segments = segments
    }

    /// Divides a file whose first `probed` bytes are the body of the first response.
    package init(
        validator: EntityValidator,
        total: Int64,
        probed: Int64,
        count: Int,
        minimum: Int64 = SegmentPlan.minimumSegment
    ) {
        self.validator = validator
        self.total = total
        segments = probed > 0 ? [FileSegment(0..<min(probed, total))] : []
        let rest = total - min(probed, total)
        guard rest > 0 else { return }
        let parts = max(1, min(Int64(max(1, count)), rest / max(1, minimum)))
        var first = total - rest
        for index in 0..<parts {
            // The first segments get one byte of the remainder each.
            let length = rest / parts + (index < rest % parts ? 1 : 0)
            segments.append(FileSegment(first..<(first + length)))
            first += length
        }
    }

    package mutating func wrote(_ count: Int64, inSegment index: Int) {
        segments[index].written = min(segments[index].length, segments[index].written + count)
    }

    /// Marks the last byte as not written, so that it is fetched again.
    package mutating func forgetLastByte() {
        guard let last = segments.indices.last, segments[last].written > 0 else { return }
        segments[last].written -= 1
    }

    package var bytesWritten: Int64 { segments.reduce(0) { $0 + $1.written } }
    package var isComplete: Bool { segments.allSatisfy(\.isComplete) }

    // MARK: Requests

    /// The fields of the first request.
    package static func probeHeaders(length: Int64 = minimumSegment) -> [HTTPHeader] {
        [
            HTTPHeader(name: "Range", value: ByteRange.bytes(0...(max(1, length) - 1)).headerValue),
            HTTPHeader(name: "Accept-Encoding", value: "identity"),
        ]
    }

    /// Returns the fields of the request for the rest of a segment; `nil` if the segment is complete.
    package func headers(forSegment index: Int) -> [HTTPHeader]? {
        let segment = segments[index]
        guard !segment.isComplete else { return nil }
        return [
            HTTPHeader(name: "Range", value: ByteRange.bytes(segment.position...(segment.end - 1)).headerValue),
            HTTPHeader(name: "If-Range", value: validator.headerValue),
            HTTPHeader(name: "Accept-Encoding", value: "identity"),
        ]
    }

    // MARK: Responses

    /// The meaning of the response to the first request.
    package enum ProbeDecision: Hashable, Sendable {
        /// The server supports ranges. The body is the first `probed` bytes of a file of length `total`.
        case divide(validator: EntityValidator, probed: Int64, total: Int64)
        /// The body is the whole file: continue with a single stream.
        case wholeFile
        /// The server does not support ranges, and the body is useless: request the whole file.
        case startOver
        /// An error or another response that says nothing about the file.
        case errorPage
    }

    package static func decision(forProbe head: ResponseHead) -> ProbeDecision {
        switch head.status {
        case 200: return head.headers.haveContentCoding ? .startOver : .wholeFile
        case 206:
            guard let (range, total) = head.headers.contentRange?.located, range.lowerBound == 0,
                let validator = ResumePlan.validator(of: head, method: .get, hasBody: false)
            else { return .startOver }
            return .divide(validator: validator, probed: range.upperBound + 1, total: total)
        // A server may reject the range of an empty file, which has no first byte.
        case 416: return .startOver
        default: return .errorPage
        }
    }

    /// The meaning of the response for one segment.
    package enum SegmentDecision: Hashable, Sendable {
        /// The body belongs at the segment's position.
        case write
        /// The file has changed, or the server has ceased to support ranges: start over with a single stream.
        case startOver
        /// An error or another response that says nothing about the file.
        case errorPage
    }

    package func decision(for head: ResponseHead, segment index: Int) -> SegmentDecision {
        switch head.status {
        case 206:
            guard let (range, length) = head.headers.contentRange?.located, length == total,
                range.lowerBound == segments[index].position, range.upperBound < segments[index].end,
                !head.headers.haveContentCoding, !validator.isContradicted(by: head.headers)
            else { return .startOver }
            return .write
        case 200, 416: return .startOver
        default: return .errorPage
        }
    }
}

/// A part of a file that one of several requests fetches, and its progress.
package struct FileSegment: Hashable, Sendable, Codable {
    /// The offset of the first byte.
    package var first: Int64
    /// The offset after the last byte.
    package var end: Int64
    /// The number of bytes written, counted from `first`.
    package var written: Int64

    package init(_ range: Range<Int64>, written: Int64 = 0) {
        first = range.lowerBound
        end = range.upperBound
        self.written = written
    }

    package var length: Int64 { end - first }
    package var isComplete: Bool { written >= length }
    /// The offset of the next byte to write.
    package var position: Int64 { first + written }

    /// Whether the segments cover a file of length `total` once and in order, and their written bytes add up to
    /// `written`.
    static func areSound(_ segments: [FileSegment], total: Int64?, written: Int64) -> Bool {
        // A download continues with one of the segments, so there must be one, even if the file is empty.
        guard let total, !segments.isEmpty else { return false }
        var position: Int64 = 0
        var sum: Int64 = 0
        for segment in segments {
            guard segment.first == position, segment.end > segment.first, segment.end <= total, segment.written >= 0,
                segment.written <= segment.length
            else { return false }
            position = segment.end
            sum += segment.written
        }
        return position == total && sum == written
    }
}
