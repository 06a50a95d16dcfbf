internal import Foundation

/// Writes the parts of an encoded entry.
struct EntryWriter {
    private(set) var bytes: [UInt8] = []

    mutating func append(byte: UInt8) { bytes.append(byte) }

    mutating func append(_ number: Int) {
        var rest = UInt64(bitPattern: Int64(number))
        while rest > 0x7F {
            bytes.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    mutating func append(signed number: Int64) { append(Int((number << 1) ^ (number >> 63))) }

    mutating func append(_ text: String) {
        append(text.utf8.count)
        bytes.append(contentsOf: text.utf8)
    }

    /// The range of dates that can be encoded. Dates outside of it are clamped.
    static let milliseconds: ClosedRange<Int64> = -1_000_000_000_000_000...1_000_000_000_000_000

    mutating func append(_ date: Date) {
        let milliseconds = date.timeIntervalSince1970 * 1000
        let (first, last) = (Double(Self.milliseconds.lowerBound), Double(Self.milliseconds.upperBound))
        append(signed: milliseconds.isNaN ? 0 : Int64(min(max(milliseconds.rounded(), first), last)))
    }

    mutating func append(_ head: ResponseHead) {
        append(head.status)
        append(head.reason)
        append(head.version.rawValue)
        append(head.headers.count)
        for field in head.headers {
            append(field.name)
            append(field.value)
        }
    }
}
