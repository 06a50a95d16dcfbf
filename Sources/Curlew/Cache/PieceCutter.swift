internal import CurlewLocks
internal import Foundation
internal import Glibc

/// Cuts a body that arrives into pieces for a store.
///
/// The memory of a piece is reused after the store has released it: the system maps new memory page by page, which
/// takes longer than writing it.
final class PieceCutter {
    /// The size of every piece but the last.
    static let size = 1 << 20

    private let spares = SparePieces()
    private var piece: UnsafeMutableRawPointer?
    private var count = 0

    deinit { if let piece { free(piece) } }

    /// Copies bytes up to the end of a piece. Returns their number, and the piece if it is full; `nil` if there is no
    /// memory.
    func take(_ bytes: UnsafeRawBufferPointer) -> (taken: Int, full: Data?)? {
        guard let piece = piece ?? spares.take() else { return nil }
        self.piece = piece
        let taken = min(bytes.count, Self.size - count)
        if taken > 0, let source = bytes.baseAddress { memcpy(piece + count, source, taken) }
        count += taken
        return (taken, count == Self.size ? rest() : nil)
    }

    /// Returns the current piece and begins a new one; `nil` if it is empty.
    func rest() -> Data? {
        guard let piece, count > 0 else { return nil }
        defer { (self.piece, count) = (nil, 0) }
        let (address, spares) = (UInt(bitPattern: piece), spares)
        return Data(bytesNoCopy: piece, count: count, deallocator: .custom { _, _ in spares.put(address) })
    }
}

/// The memory of released pieces, for reuse.
private final class SparePieces: Sendable {
    // Addresses, because no piece owns the memory.
    private let addresses = Lock<[UInt]>([])

    /// The most pieces to keep. A slow store has more of them at the same time than it will need later.
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
