/// Decides how one file is fetched by several requests at a time.
///
/// The first request asks for the file's beginning only. Its answer tells whether the server has ranges,
/// how long the file is and which version it is; then the rest is divided. Nothing is asked for twice,
/// and a small file is there with the first answer.
package struct SegmentPlan: Sendable, Hashable {
    package let validator: EntityValidator
    package let total: Int64
    package private(set) var segments: [FileSegment]

    /// Below this another request costs more than it gains.
    package static let minimumSegment: Int64 = 1024 * 1024

    /// Goes on with segments of an earlier download.
    package init(validator: EntityValidator, total: Int64, segments: [FileSegment]) {
        self.validator = validator
        self.total = total
        self.segments = segments
    }

    /// Divides a file of which the first `have` bytes are coming already.
    package init(
        validator: EntityValidator,
        total: Int64,
        have: Int64,
        count: Int,
        minimum: Int64 = SegmentPlan.minimumSegment
    ) {
        self.validator = validator
        self.total = total
        segments = have > 0 ? [FileSegment(0..<min(have, total))] : []
        let rest = total - min(have, total)
        guard rest > 0 else { return }
        let parts = max(1, min(Int64(max(1, count)), rest / max(1, minimum)))
        var first = total - rest
        for index in 0..<parts {
            // The remainder goes to the first ones, a byte each.
            let length = rest / parts + (index < rest % parts ? 1 : 0)
            segments.append(FileSegment(first..<(first + length)))
            first += length
        }
    }

    package mutating func wrote(_ count: Int64, inSegment index: Int) {
        segments[index].written = min(segments[index].length, segments[index].written + count)
    }

    /// Has the last byte fetched again.
    package mutating func forgetLastByte() {
        guard let last = segments.indices.last, segments[last].written > 0 else { return }
        segments[last].written -= 1
    }

    package var bytesWritten: Int64 { segments.reduce(0) { $0 + $1.written } }
    package var isComplete: Bool { segments.allSatisfy(\.isComplete) }

    // MARK: Requests

    /// What the first request carries.
    package static func probeHeaders(length: Int64 = minimumSegment) -> [HTTPHeader] {
        [
            HTTPHeader(name: "Range", value: ByteRange.bytes(0...(max(1, length) - 1)).headerValue),
            HTTPHeader(name: "Accept-Encoding", value: "identity"),
        ]
    }

    /// What the request for the rest of a segment carries; nil where nothing is left.
    package func headers(forSegment index: Int) -> [HTTPHeader]? {
        let segment = segments[index]
        guard !segment.isComplete else { return nil }
        return [
            HTTPHeader(name: "Range", value: ByteRange.bytes(segment.position...(segment.end - 1)).headerValue),
            HTTPHeader(name: "If-Range", value: validator.headerValue),
            HTTPHeader(name: "Accept-Encoding", value: "identity"),
        ]
    }

    // MARK: Answers

    /// What the answer to the first request means.
    package enum ProbeDecision: Hashable, Sendable {
        /// The server has ranges: its body is the first so many bytes of so many.
        case divide(validator: EntityValidator, have: Int64, total: Int64)
        /// Its body is the whole file: one stream it is.
        case wholeFile
        /// No ranges, and no use for its body: ask for the whole file.
        case askAgain
        /// An error or the like.
        case unrelated
    }

    package static func decision(forProbe head: ResponseHead) -> ProbeDecision {
        switch head.status {
        case 200: return ResumePlan.isEncoded(head.headers) ? .askAgain : .wholeFile
        case 206:
            guard let (range, total) = ResumePlan.contentRange(in: head.headers)?.located, range.lowerBound == 0,
                let validator = ResumePlan.validator(of: head, method: .get, hasBody: false)
            else { return .askAgain }
            return .divide(validator: validator, have: range.upperBound + 1, total: total)
        // An empty file has no first byte.
        case 416: return .askAgain
        default: return .unrelated
        }
    }

    /// What the answer for one segment means.
    package enum SegmentDecision: Hashable, Sendable {
        /// Its body belongs at the segment's position.
        case write
        /// The file has changed or the server has no ranges any more: start over with one stream.
        case startOver
        /// An error or the like, which says nothing about the file.
        case unrelated
    }

    package func decision(for head: ResponseHead, segment index: Int) -> SegmentDecision {
        switch head.status {
        case 206:
            guard let (range, length) = ResumePlan.contentRange(in: head.headers)?.located, length == total,
                range.lowerBound == segments[index].position, range.upperBound < segments[index].end,
                !ResumePlan.isEncoded(head.headers), !validator.isContradicted(by: head.headers)
            else { return .startOver }
            return .write
        case 200, 416: return .startOver
        default: return .unrelated
        }
    }
}
