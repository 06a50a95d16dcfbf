/// Encodes fields into header blocks. It refers to the static table and adds nothing to the dynamic one, so every block
/// is self-contained.
struct HPACKEncoder {
    private var hasBegun = false

    mutating func encode(_ fields: [HPACKField]) -> [UInt8] {
        var block: [UInt8] = []
        if !hasBegun {
            // Sets the dynamic table's size to 0. The size stays valid whatever limit the peer announces (RFC 7541,
            // 4.2).
            Self.append(0, prefix: 5, flags: 0x20, to: &block)
            hasBegun = true
        }
        for field in fields {
            let known = HPACKStaticTable.fields
            if let index = known.firstIndex(of: field) {
                Self.append(index + 1, prefix: 7, flags: 0x80, to: &block)
                continue
            }
            let name = known.firstIndex { $0.name == field.name }
            Self.append(name.map { $0 + 1 } ?? 0, prefix: 4, flags: 0, to: &block)
            if name == nil { Self.append(field.name, to: &block) }
            Self.append(field.value, to: &block)
        }
        return block
    }

    private static func append(_ string: [UInt8], to block: inout [UInt8]) {
        append(string.count, prefix: 7, flags: 0, to: &block)
        block += string
    }

    static func append(_ value: Int, prefix: Int, flags: UInt8, to block: inout [UInt8]) {
        let most = (1 << prefix) - 1
        guard value >= most else {
            block.append(flags | UInt8(truncatingIfNeeded: value))
            return
        }
        block.append(flags | UInt8(truncatingIfNeeded: most))
        var rest = value - most
        while rest >= 0x80 {
            block.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        block.append(UInt8(truncatingIfNeeded: rest))
    }
}
