internal import Foundation

/// Puts the bytes that one turn of a transport brings into a few large pieces. It is the only copy of these bytes.
struct PieceFilling: Sendable {
    /// What a piece holds that begins with as many bytes as libcurl hands over of a body that comes fast.
    static let capacity = 64 * 1024
    /// From so many bytes on more is to be expected in the same turn: libcurl hands over 16 KiB at most. Fewer are mostly
    /// all that has come, as an event or a line.
    static let large = 8 * 1024

    private var pieces: [Data] = []
    /// What fits into the last piece.
    private var room = 0
    /// Bytes in all pieces.
    private(set) var count = 0

    /// Adds to the last piece; false where there is none, they do not fit, or there is nothing to add.
    mutating func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard !bytes.isEmpty, bytes.count <= room else { return false }
        pieces[pieces.count - 1].append(contentsOf: bytes)
        room -= bytes.count
        count += bytes.count
        return true
    }

    /// Adds a piece; true where it is the first.
    mutating func begin(with bytes: UnsafeRawBufferPointer) -> Bool {
        let isAlone = pieces.isEmpty && bytes.count < Self.large
        let capacity = isAlone ? bytes.count : max(Self.capacity, bytes.count)
        var piece = Data(capacity: capacity)
        piece.append(contentsOf: bytes)
        pieces.append(piece)
        room = capacity - bytes.count
        count += bytes.count
        return pieces.count == 1
    }

    /// The turn is over: gives up what it has brought.
    mutating func take() -> [Data] {
        // A reader that is slow must not keep room that was never filled.
        if room > Self.capacity / 2, let last = pieces.popLast() {
            pieces.append(last.withUnsafeBytes { Data($0) })
        }
        (room, count) = (0, 0)
        return exchange(&pieces, with: [])
    }
}
