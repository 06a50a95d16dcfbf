internal import CurlewCore
internal import CurlewFailures
internal import Foundation

/// How far the reading of a form has come.
struct FormPosition: Sendable {
    /// Where the next bytes are.
    enum Next: Sendable {
        /// In memory: delimiters, headers, or a part's data.
        case data(Data)
        /// In a part's file or stream, so many of them at most.
        case content(MultipartPart, rest: UInt64)
        case end
    }

    private let layout: MultipartLayout
    private let parts: [MultipartPart]
    private var piece = 0
    /// Within the piece.
    private(set) var offset: UInt64 = 0

    init(layout: MultipartLayout, parts: [MultipartPart]) {
        self.layout = layout
        self.parts = parts
    }

    var isReplayable: Bool { parts.allSatisfy(\.isReplayable) }

    mutating func restart() { (piece, offset) = (0, 0) }

    /// Passes over pieces without bytes.
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

    /// Copies what lies in memory, and takes it.
    mutating func copy(_ data: Data, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let start = data.startIndex + Int(offset)
        let count = min(buffer.count, data.endIndex - start)
        data.copyBytes(to: buffer, from: start..<start + count)
        took(count)
        return count
    }

    /// What is said of a part that has ended before its declared length.
    func endedEarly(_ part: MultipartPart) -> CurlewError {
        .multipartEncodingFailed(
            reason: .inputStreamReadFailed(
                error: CurlewError.UnexpectedInputStreamLength(bytesExpected: part.length, bytesRead: offset)))
    }
}
