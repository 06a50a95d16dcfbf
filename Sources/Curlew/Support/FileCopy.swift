internal import CurlewCore

/// Copies and reads files in pieces. Blocks.
enum FileCopy {
    private static let pieceSize = 256 * 1024

    static func copy(from source: OpenFile, to target: OpenFile) throws(CurlewError) {
        try forEachPiece(of: source, in: 0..<Int64.max) { bytes, offset throws(CurlewError) in
            try target.write(bytes, at: offset)
        }
    }

    /// Calls `body` with consecutive pieces of `range`, up to the end of the file.
    static func forEachPiece(
        of file: OpenFile,
        in range: Range<Int64>,
        _ body: (UnsafeRawBufferPointer, Int64) throws(CurlewError) -> Void
    ) throws(CurlewError) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceSize, alignment: 16)
        defer { buffer.deallocate() }
        var offset = range.lowerBound
        while offset < range.upperBound {
            let wanted = Int(min(Int64(pieceSize), range.upperBound - offset))
            let count = try file.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]), at: offset)
            if count == 0 { return }
            try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]), offset)
            offset += Int64(count)
        }
    }
}
