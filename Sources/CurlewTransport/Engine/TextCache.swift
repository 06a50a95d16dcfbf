internal import CurlewCore
internal import Glibc

/// Caches header fields, and their strings, that servers send again and again.
///
/// A response's `Date`, `Server` and `Content-Type` mostly equal those of the last one: a hit costs a comparison and
/// two retains instead of parsing the line. Long strings of unknown lines are looked up separately; strings of up to 15
/// bytes need no allocation.
struct TextCache {
    private var lines = LineCache()

    private static let slots = 256
    private static let longest = 128

    private var strings = [String](repeating: "", count: slots)

    mutating func string(_ bytes: UnsafeRawBufferPointer) -> String {
        guard bytes.count > 15, bytes.count <= Self.longest else { return String(decoding: bytes, as: UTF8.self) }
        // Length and both ends tell most values apart; a collision only replaces the entry.
        let count = bytes.count
        var hash = UInt(count)
        hash = hash &* 31 &+ UInt(bytes.loadUnaligned(as: UInt64.self))
        hash = hash &* 31 &+ UInt(bytes.loadUnaligned(fromByteOffset: count - 8, as: UInt64.self))
        hash = (hash &* 0x9E37_79B9_7F4A_7C15) >> 56
        let slot = Int(hash) % Self.slots
        if Self.equals(&strings[slot], bytes) { return strings[slot] }
        let made = String(decoding: bytes, as: UTF8.self)
        strings[slot] = made
        return made
    }

    // MARK: Whole lines

    /// The field of a line that was seen before; `nil` if it is not in the cache.
    func field(_ line: UnsafeRawBufferPointer) -> HTTPHeader? { lines.field(line) }

    mutating func remember(_ field: HTTPHeader, of line: UnsafeRawBufferPointer) { lines.remember(field, of: line) }

    private static func equals(_ string: inout String, _ bytes: UnsafeRawBufferPointer) -> Bool {
        guard string.utf8.count == bytes.count else { return false }
        return string.withUTF8 { text in
            guard let left = text.baseAddress, let right = bytes.baseAddress else { return text.isEmpty }
            return memcmp(left, right, bytes.count) == 0
        }
    }
}
