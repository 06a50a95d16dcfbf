internal import Foundation

/// An entry's `id` as 16 bytes. Only ids of the form that the cache generates are accepted, so that each can name a
/// file.
struct EntryID: Sendable, Hashable {
    let data: Data

    init?(_ text: String) {
        let digits = Array(text.utf8)
        guard digits.count == 32 else { return nil }
        var bytes = Data(capacity: 16)
        for index in stride(from: 0, to: 32, by: 2) {
            guard let high = Self.value(digits[index]), let low = Self.value(digits[index + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        data = bytes
    }

    /// Creates an id from the bytes in the index.
    init?(stored: Data) {
        guard stored.count == 16 else { return nil }
        data = stored
    }

    /// The id as lower-case hexadecimal digits.
    var text: String {
        data.withUnsafeBytes { bytes in
            String(unsafeUninitializedCapacity: 2 * bytes.count) { digits in
                for (index, byte) in bytes.enumerated() {
                    digits[2 * index] = Self.digit(byte >> 4)
                    digits[2 * index + 1] = Self.digit(byte & 15)
                }
                return 2 * bytes.count
            }
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x57 + value }

    // Capital letters would give one id two file names.
    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x61...0x66: digit - 0x61 + 10
        default: nil
        }
    }
}
