internal import Foundation

/// Splits a stream of bytes into lines, regardless of its division into chunks.
///
/// `\n` and `\r\n` end a line; a single `\r` is part of it. Blank lines count. The end of the last line is not followed
/// by an empty one. A line above the maximum length throws `.limitExceeded`.
package struct LineSplitter: Sendable {
    /// The most bytes of a line, without its end.
    package let maximumLength: Int

    /// The bytes of a line whose end has not arrived yet.
    private var partial: [UInt8] = []

    /// Creates a splitter that refuses lines above this length.
    package init(maximumLength: Int) { self.maximumLength = maximumLength }

    /// A complete line.
    package enum Line {
        /// A range of the bytes that were searched.
        case inside(Range<Int>)
        /// The bytes of a line that began in an earlier buffer.
        case joined([UInt8])
    }

    /// Returns the next line that ends in `bytes`, beginning at `position`, and moves `position` past its end.
    ///
    /// Without one, the rest of `bytes` is stored until more arrives, and `position` moves to the end. A caller can
    /// thus take lines one by one from the same buffer.
    package mutating func next(
        in bytes: UnsafeRawBufferPointer,
        from position: inout Int
    ) throws(CurlewError) -> Line? {
        let start = position
        guard let base = bytes.baseAddress, start < bytes.count else { return nil }
        guard let found = memchr(base + start, Int32(UInt8(ascii: "\n")), bytes.count - start) else {
            position = bytes.count
            partial.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[start...]))
            // A final `\r` may be the first half of `\r\n`.
            try check(partial.count - (partial.last == UInt8(ascii: "\r") ? 1 : 0))
            return nil
        }
        let end = UnsafeRawPointer(found) - base
        position = end + 1
        guard partial.isEmpty else { return .joined(try join(UnsafeRawBufferPointer(rebasing: bytes[start..<end]))) }
        let isReturn = end > start && bytes[end - 1] == UInt8(ascii: "\r")
        let line = start..<(isReturn ? end - 1 : end)
        try check(line.count)
        return .inside(line)
    }

    /// Call at the end of the stream. Returns the last line if its end is missing.
    package mutating func last() throws(CurlewError) -> [UInt8]? {
        guard !partial.isEmpty else { return nil }
        try check(partial.count)
        return exchange(&partial, with: [])
    }

    private mutating func join(_ end: UnsafeRawBufferPointer) throws(CurlewError) -> [UInt8] {
        partial.append(contentsOf: end)
        if partial.last == UInt8(ascii: "\r") { partial.removeLast() }
        try check(partial.count)
        return exchange(&partial, with: [])
    }

    private func check(_ length: Int) throws(CurlewError) {
        guard length > maximumLength else { return }
        throw CurlewError(
            .limitExceeded, phase: .receive, reason: "a line is longer than \(maximumLength) bytes")
    }
}
