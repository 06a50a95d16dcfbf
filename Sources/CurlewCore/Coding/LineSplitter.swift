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

    /// Calls `body` with each line that ends in `bytes`, in order. The buffer is valid during the call only.
    package mutating func split(
        _ bytes: UnsafeRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) -> Void
    ) throws(CurlewError) {
        guard let base = bytes.baseAddress else { return }
        var start = 0
        let count = bytes.count
        while let found = memchr(base + start, Int32(UInt8(ascii: "\n")), count - start) {
            let index = UnsafeRawPointer(found) - base
            let piece = UnsafeRawBufferPointer(rebasing: bytes[start..<index])
            if partial.isEmpty {
                try end(piece, body)
            } else {
                partial.append(contentsOf: piece)
                // Taken out first, so that `body` may throw the splitter away.
                var line: [UInt8] = []
                swap(&line, &partial)
                try line.withUnsafeBufferPointer { buffer throws(CurlewError) in try end(.init(buffer), body) }
                line.removeAll(keepingCapacity: true)
                swap(&line, &partial)
            }
            start = index + 1
        }
        guard start < count else { return }
        partial.append(contentsOf: bytes[start...])
        // The last byte may be the beginning of `\r\n`.
        try check(partial.count - (partial.last == UInt8(ascii: "\r") ? 1 : 0))
    }

    /// The stream has ended: calls `body` with the last line if its end is missing.
    package mutating func finish(_ body: (UnsafeRawBufferPointer) -> Void) throws(CurlewError) {
        guard !partial.isEmpty else { return }
        try check(partial.count)
        partial.withUnsafeBytes(body)
        partial = []
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
        var line: String?
        try finish { line = String(decoding: $0, as: UTF8.self) }
        return line
    }

    private func end(_ line: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void) throws(CurlewError) {
        let length = line.last == UInt8(ascii: "\r") ? line.count - 1 : line.count
        try check(length)
        body(UnsafeRawBufferPointer(rebasing: line[..<length]))
    }

    private func check(_ length: Int) throws(CurlewError) {
        guard length > maximumLength else { return }
        throw CurlewError(
            .limitExceeded, phase: .receive, reason: "a line is longer than \(maximumLength) bytes")
    }
}
