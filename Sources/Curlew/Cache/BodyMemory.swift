internal import Foundation
internal import Glibc

/// Room for a large body of known size, which becomes a `Data` without a copy.
///
/// The system makes memory that is new available page by page, and for a body that takes several times as long as writing it.
/// So this asks for huge pages, which the system gives where it has them.
final class BodyMemory {
    private let start: UnsafeMutableRawPointer
    private let capacity: Int
    private(set) var count = 0
    private var isHandedOver = false

    private static let hugePage = 2 << 20

    /// nil for a size that is not worth it, and where there is no memory.
    init?(ofSize size: Int64) {
        guard size >= Int64(Self.hugePage), let capacity = Int(exactly: size) else { return nil }
        var start: UnsafeMutableRawPointer?
        guard posix_memalign(&start, Self.hugePage, capacity) == 0, let start else { return nil }
        // Whole ones: the rest of the last one would be memory that no byte needs.
        madvise(start, capacity / Self.hugePage * Self.hugePage, MADV_HUGEPAGE)
        self.start = start
        self.capacity = capacity
    }

    deinit { if !isHandedOver { free(start) } }

    /// False where there is no room for the bytes.
    func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard !isHandedOver, bytes.count <= capacity - count else { return false }
        guard let source = bytes.baseAddress else { return true }
        memcpy(start + count, source, bytes.count)
        count += bytes.count
        return true
    }

    /// What has come together. Nothing is added afterwards.
    func data() -> Data {
        guard !isHandedOver, count > 0 else { return Data() }
        isHandedOver = true
        return Data(bytesNoCopy: start, count: count, deallocator: .free)
    }
}
