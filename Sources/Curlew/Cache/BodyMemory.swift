internal import Foundation
internal import Glibc

/// Memory for a large body of known size, which becomes a `Data` without a copy.
///
/// The system maps new memory page by page, which takes several times as long as writing the body. We therefore ask for
/// huge pages, which the system provides if it has them.
final class BodyMemory {
    private let start: UnsafeMutableRawPointer
    private let capacity: Int
    private(set) var count = 0
    private var isHandedOver = false

    private static let hugePage = 2 << 20

    /// `nil` if the size is too small for huge pages, or if there is no memory.
    init?(ofSize size: Int64) {
        guard size >= Int64(Self.hugePage), let capacity = Int(exactly: size) else { return nil }
        var start: UnsafeMutableRawPointer?
        guard posix_memalign(&start, Self.hugePage, capacity) == 0, let start else { return nil }
        // Only whole huge pages are requested: most of a last partial one would stay unused.
        madvise(start, capacity / Self.hugePage * Self.hugePage, MADV_HUGEPAGE)
        self.start = start
        self.capacity = capacity
    }

    deinit { if !isHandedOver { free(start) } }

    /// False if the bytes do not fit.
    func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard !isHandedOver, bytes.count <= capacity - count else { return false }
        guard let source = bytes.baseAddress else { return true }
        memcpy(start + count, source, bytes.count)
        count += bytes.count
        return true
    }

    /// Returns the collected bytes. No bytes can be added afterwards.
    func data() -> Data {
        guard !isHandedOver, count > 0 else { return Data() }
        isHandedOver = true
        return Data(bytesNoCopy: start, count: count, deallocator: .free)
    }
}
