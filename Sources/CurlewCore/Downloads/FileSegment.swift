/// A part of a file that one of several requests fetches, and its progress.
package struct FileSegment: Hashable, Sendable, Codable {
    /// The offset of the first byte.
    package var first: Int64
    /// The offset after the last byte.
    package var end: Int64
    /// The number of bytes written, counted from `first`.
    package var written: Int64

    /// Creates a segment from a range of bytes.
    package init(_ range: Range<Int64>, written: Int64 = 0) {
        first = range.lowerBound
        end = range.upperBound
        self.written = written
    }

    /// The number of bytes in the segment.
    package var length: Int64 { end - first }
    /// Whether all bytes are written.
    package var isComplete: Bool { written >= length }
    /// The offset of the next byte to write.
    package var position: Int64 { first + written }

    /// Whether the segments cover a file of length `total` once and in order, and their written bytes add up to
    /// `written`.
    static func areSound(_ segments: [FileSegment], total: Int64?, written: Int64) -> Bool {
        guard let total else { return false }
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
