package import Foundation

/// Cuts a stream of bytes into lines, however the stream was cut into chunks.
///
/// `\n` and `\r\n` end a line; a lone `\r` belongs to it. Blank lines count; there is no extra line after
/// the last line's end. A line above the maximum length is `.limitExceeded`.
package struct LineSplitter: Sendable {
    /// Most bytes of a line, its end not counted.
    package let maximumLength: Int

    /// The line that has begun, and has not ended.
    private var partial: [UInt8] = []

    /// Makes a splitter that refuses lines above this length.
    package init(maximumLength: Int) { self.maximumLength = maximumLength }

    /// Where a line is that has ended.
    package enum Line {
        /// In the bytes that were searched.
        case inside(Range<Int>)
        /// It began in earlier bytes.
        case joined([UInt8])
    }

    /// The next line that ends in `bytes`, from `position` on, which is moved behind it.
    ///
    /// Without one the rest is kept until more bytes come, and `position` moves to the end. So a caller takes line after line
    /// of the same bytes as it needs them.
    package mutating func next(
        in bytes: UnsafeRawBufferPointer,
        from position: inout Int
    ) throws(CurlewError) -> Line? {
        let start = position
        guard let base = bytes.baseAddress, start < bytes.count else { return nil }
        guard let found = memchr(base + start, Int32(UInt8(ascii: "\n")), bytes.count - start) else {
            position = bytes.count
            partial.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[start...]))
            // The last byte may be the beginning of `\r\n`.
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

    /// Calls `body` with each line that ends in `bytes`, in order. The buffer is valid during the call only.
    package mutating func split(
        _ bytes: UnsafeRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) -> Void
    ) throws(CurlewError) {
        var position = 0
        while let line = try next(in: bytes, from: &position) {
            switch line {
            case .inside(let range): body(UnsafeRawBufferPointer(rebasing: bytes[range]))
            case .joined(let line): line.withUnsafeBytes(body)
            }
        }
    }

    /// The stream has ended: the last line, if its end is missing.
    package mutating func last() throws(CurlewError) -> [UInt8]? {
        guard !partial.isEmpty else { return nil }
        try check(partial.count)
        return exchange(&partial, with: [])
    }

    /// The lines that end in `chunk`.
    package mutating func lines(in chunk: Data) throws(CurlewError) -> [String] {
        var lines: [String] = []
        let result = chunk.withUnsafeBytes { bytes in
            Result { () throws(CurlewError) in
                try split(bytes) { lines.append(String(decoding: $0, as: UTF8.self)) }
            }
        }
        try result.get()
        return lines
    }

    /// The last line, if the stream ended without an end of line.
    package mutating func lastLine() throws(CurlewError) -> String? {
        try last().map { String(decoding: $0, as: UTF8.self) }
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
