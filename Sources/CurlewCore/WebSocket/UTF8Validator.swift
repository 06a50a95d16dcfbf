/// Tells whether bytes are UTF-8 (RFC 3629) while they come: the first byte that cannot belong to valid text fails.
package struct UTF8Validator: Sendable {
    /// So many continuation bytes are to come.
    private var missing = 0
    // What the next continuation byte may be: the first one excludes overlong forms, surrogates and what is above U+10FFFF.
    private var lowest: UInt8 = 0x80
    private var highest: UInt8 = 0xBF

    package init() {}

    /// Whether the bytes so far end between two characters.
    package var isComplete: Bool { missing == 0 }

    /// Whether these bytes continue valid text.
    package mutating func accepts(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let base = bytes.baseAddress else { return true }
        let count = bytes.count
        var index = 0
        while index < count {
            if missing == 0 {
                // Most text is ASCII for long stretches.
                while index &+ 8 <= count,
                    base.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
                {
                    index &+= 8
                }
                guard index < count else { break }
            }
            guard accepts(base.load(fromByteOffset: index, as: UInt8.self)) else { return false }
            index &+= 1
        }
        return true
    }

    private mutating func accepts(_ byte: UInt8) -> Bool {
        guard missing == 0 else {
            guard byte >= lowest, byte <= highest else { return false }
            missing -= 1
            (lowest, highest) = (0x80, 0xBF)
            return true
        }
        switch byte {
        case 0x00...0x7F: return true
        case 0xC2...0xDF: missing = 1
        case 0xE0...0xEF:
            missing = 2
            if byte == 0xE0 { lowest = 0xA0 }
            if byte == 0xED { highest = 0x9F }
        case 0xF0...0xF4:
            missing = 3
            if byte == 0xF0 { lowest = 0x90 }
            if byte == 0xF4 { highest = 0x8F }
        default: return false
        }
        return true
    }
}
