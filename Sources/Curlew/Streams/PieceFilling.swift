internal import Foundation

/// Collects the bytes of one turn of a transport in a few large pieces. These bytes are copied only here.
struct PieceFilling: Sendable {
    /// The capacity of a piece that begins with a large delivery, or follows another piece.
    static let capacity = 64 * 1024
    /// A delivery of at least this size suggests more in the same turn: libcurl delivers at most 16 KiB at a time. A
    /// smaller one is mostly a complete event or line, and gets a piece of exactly its size.
    static let large = 8 * 1024

    private var pieces: [Data] = []
    /// The free bytes of the last piece.
    private var room = 0
    /// The bytes in all pieces.
    private(set) var count = 0

    /// Adds the bytes to the last piece. False if there is no piece, if they do not fit, or if `bytes` is empty.
    mutating func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard !bytes.isEmpty, bytes.count <= room else { return false }
        pieces[pieces.count - 1].append(contentsOf: bytes)
        room -= bytes.count
        count += bytes.count
        return true
    }

    /// Begins a piece with the bytes. True if it is the turn's first.
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

    /// Ends the turn and returns its pieces.
    mutating func take() -> [Data] {
        // Copies a mostly empty last piece, so that a slow reader does not retain its unused capacity.
        if room > Self.capacity / 2, let last = pieces.popLast() {
            pieces.append(last.withUnsafeBytes { Data($0) })
        }
        (room, count) = (0, 0)
        return exchange(&pieces, with: [])
    }
}
