internal import Glibc

/// Bytes that were read and not yet parsed.
struct InputBuffer {
    private var bytes: [UInt8] = []
    private var start = 0

    var count: Int { bytes.count - start }
    var isEmpty: Bool { count == 0 }

    mutating func append(_ new: UnsafeRawBufferPointer) {
        if start == bytes.count {
            bytes.removeAll(keepingCapacity: true)
            start = 0
        }
        bytes.append(contentsOf: new)
    }

    mutating func consume(_ count: Int) {
        start += count
        if start > 65_536, start * 2 > bytes.count {
            bytes.removeFirst(start)
            start = 0
        }
    }

    /// The first `count` bytes.
    func prefix(_ count: Int) -> ArraySlice<UInt8> { bytes[start..<start + min(count, self.count)] }

    /// How many bytes the next line has, with its line feed; nil while it is not complete.
    func lineLength(from offset: Int = 0) -> Int? {
        bytes.withUnsafeBytes { raw in
            guard let base = raw.baseAddress, offset < count else { return nil }
            let from = base + start + offset
            guard let found = memchr(from, 0x0A, count - offset) else { return nil }
            return UnsafeRawPointer(found) - from + 1
        }
    }
}
