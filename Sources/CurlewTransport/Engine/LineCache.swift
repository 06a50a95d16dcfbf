internal import CurlewCore
internal import Glibc

/// Caches header lines as received, each with the field that was parsed from it.
struct LineCache {
    private static let slots = 128
    /// The lengths of cached lines: at least eight bytes, because the hash reads a word at both ends.
    private static let lengths = 8...120

    private var bytes = [UInt8](repeating: 0, count: slots * lengths.upperBound)
    private var counts = [Int](repeating: 0, count: slots)
    private var fields = [HTTPHeader](repeating: HTTPHeader(name: "", value: ""), count: slots)

    func field(_ line: UnsafeRawBufferPointer) -> HTTPHeader? {
        guard Self.lengths.contains(line.count), let start = line.baseAddress else { return nil }
        let slot = Self.slot(of: line)
        guard counts[slot] == line.count else { return nil }
        let isEqual = bytes.withUnsafeBytes { bytes in
            bytes.baseAddress.map { memcmp($0 + slot * Self.lengths.upperBound, start, line.count) == 0 } ?? false
        }
        return isEqual ? fields[slot] : nil
    }

    /// A collision only replaces the entry.
    mutating func remember(_ field: HTTPHeader, of line: UnsafeRawBufferPointer) {
        guard Self.lengths.contains(line.count) else { return }
        let slot = Self.slot(of: line)
        bytes.withUnsafeMutableBytes { bytes in
            UnsafeMutableRawBufferPointer(rebasing: bytes[(slot * Self.lengths.upperBound)...]).copyMemory(from: line)
        }
        counts[slot] = line.count
        fields[slot] = field
    }

    /// The slot of a line, by its length and both ends.
    private static func slot(of line: UnsafeRawBufferPointer) -> Int {
        var hash = UInt(line.count)
        hash = hash &* 31 &+ UInt(line.loadUnaligned(as: UInt64.self))
        hash = hash &* 31 &+ UInt(line.loadUnaligned(fromByteOffset: line.count - 8, as: UInt64.self))
        return Int((hash &* 0x9E37_79B9_7F4A_7C15) >> 57)
    }
}
