/// A part of a file that one of several requests fetches, and how far it has come.
package struct FileSegment: Hashable, Sendable, Codable {
    /// Its first byte.
    package var first: Int64
    /// The byte after its last.
    package var end: Int64
    /// How many of its bytes are there, counted from `first`.
    package var written: Int64

    /// Makes a segment of a range of bytes.
    package init(_ range: Range<Int64>, written: Int64 = 0) {
        first = range.lowerBound
        end = range.upperBound
        self.written = written
    }

    /// How many bytes it has.
    package var length: Int64 { end - first }
    /// Whether all its bytes are written.
    package var isComplete: Bool { written >= length }
    /// Where the next byte belongs.
    package var position: Int64 { first + written }

    /// Whether they cover a file of that length once, in order, and add up to what is said to be there.
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
