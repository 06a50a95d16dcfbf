internal import Glibc

/// Bytes that were read but not parsed.
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

    /// The first `count` bytes, or all if there are fewer.
    func prefix(_ count: Int) -> ArraySlice<UInt8> { bytes[start..<start + min(count, self.count)] }

    /// The length of the next line with its line feed; `nil` if it is incomplete.
    func lineLength(from offset: Int = 0) -> Int? {
        bytes.withUnsafeBytes { raw in
            guard let base = raw.baseAddress, offset < count else { return nil }
            let from = base + start + offset
            guard let found = memchr(from, 0x0A, count - offset) else { return nil }
            return UnsafeRawPointer(found) - from + 1
        }
    }
}
