internal import CurlewLocks
internal import Foundation
internal import Glibc

/// Cuts what comes of a body into pieces for a store.
///
/// The memory of a piece is used again once the store has let go of it: memory that is new is made available page by page, which
/// takes longer than writing it.
final class PieceCutter {
    /// Of each piece but the last one.
    static let size = 1 << 20

    private let spares = SparePieces()
    private var piece: UnsafeMutableRawPointer?
    private var count = 0

    deinit { if let piece { free(piece) } }

    /// Takes bytes up to the end of a piece. How many, and the piece where that is full; nil where there is no memory.
    func take(_ bytes: UnsafeRawBufferPointer) -> (taken: Int, full: Data?)? {
        guard let piece = piece ?? spares.take() else { return nil }
        self.piece = piece
        let taken = min(bytes.count, Self.size - count)
        if taken > 0, let source = bytes.baseAddress { memcpy(piece + count, source, taken) }
        count += taken
        return (taken, count == Self.size ? rest() : nil)
    }

    /// What is left for a piece that is not full.
    func rest() -> Data? {
        guard let piece, count > 0 else { return nil }
        defer { (self.piece, count) = (nil, 0) }
        let (address, spares) = (UInt(bitPattern: piece), spares)
        return Data(bytesNoCopy: piece, count: count, deallocator: .custom { _, _ in spares.put(address) })
    }
}

/// Memory of pieces that are written.
private final class SparePieces: Sendable {
    // Addresses: the memory is no piece's now.
    private let addresses = Lock<[UInt]>([])

    /// A store that is behind has more of them under way than it will need again.
    private static let most = 4

    deinit { for address in addresses.withLock({ $0 }) { free(UnsafeMutableRawPointer(bitPattern: address)) } }

    func take() -> UnsafeMutableRawPointer? {
        addresses.withLock { $0.popLast() }.flatMap { UnsafeMutableRawPointer(bitPattern: $0) }
            ?? malloc(PieceCutter.size)
    }

    func put(_ address: UInt) {
        let isKept = addresses.withLock { addresses in
            guard addresses.count < Self.most else { return false }
            addresses.append(address)
            return true
        }
        if !isKept { free(UnsafeMutableRawPointer(bitPattern: address)) }
    }
}
