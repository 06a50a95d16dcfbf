internal import CurlewCore
internal import Foundation

/// The reading position in a form.
struct FormPosition: Sendable {
    /// The source of the next bytes.
    enum Next: Sendable {
        /// Data in memory: delimiters, headers, or a part's data.
        case data(Data)
        /// The file or stream of a part, with at most `rest` bytes left.
        case content(MultipartPart, rest: UInt64)
        case end
    }

    private let layout: MultipartLayout
    private let parts: [MultipartPart]
    private var piece = 0
    /// The offset within the piece.
    private(set) var offset: UInt64 = 0

    init(layout: MultipartLayout, parts: [MultipartPart]) {
        self.layout = layout
        self.parts = parts
    }

    var isReplayable: Bool { parts.allSatisfy(\.isReplayable) }

    mutating func restart() { (piece, offset) = (0, 0) }

    /// The source of the next bytes. Skips empty pieces.
    mutating func next() -> Next {
        while piece < layout.pieces.count {
            switch layout.pieces[piece] {
            case .framing(let data):
                if offset < data.count { return .data(data) }
            case .content(let index):
                let part = parts[index]
                if offset < part.length {
                    if case .data(let data) = part.content { return .data(data) }
                    return .content(part, rest: part.length - offset)
                }
            }
            (piece, offset) = (piece + 1, 0)
        }
        return .end
    }

    mutating func took(_ count: Int) { offset += UInt64(count) }

    /// Copies data in memory and advances the position.
    mutating func copy(_ data: Data, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let start = data.startIndex + Int(offset)
        let count = min(buffer.count, data.endIndex - start)
        data.copyBytes(to: buffer, from: start..<start + count)
        took(count)
        return count
    }

    /// The error for a part that ended before its declared length.
    func endedEarly(_ part: MultipartPart) -> CurlewError {
        .formPartEnded(after: offset, of: part.length)
    }
}
