/// Decodes header blocks into fields (RFC 7541). Later blocks refer to table entries of earlier ones, so every block
/// must be decoded, in order, even if its fields are discarded.
struct HPACKDecoder {
    struct Block: Equatable {
        var fields: [HPACKField] = []
        /// Whether the fields exceeded the limit; those beyond it are left out.
        var isTooLong = false
    }

    private var table: HPACKDynamicTable
    /// The largest table size that our settings allow.
    private let tableLimit: Int

    init(tableLimit: Int = HTTP2Settings.defaultTableSize) {
        self.tableLimit = tableLimit
        table = HPACKDynamicTable(limit: tableLimit)
    }

    /// The fields of the dynamic table, latest first.
    var tableFields: [HPACKField] { table.fields }
    var tableSize: Int { table.size }

    /// Decodes a whole block. Keeps only fields whose sizes add up to at most `listLimit`: a short block can refer to a
    /// long table entry many times.
    mutating func decode(_ bytes: [UInt8], listLimit: Int) throws(HTTP2Failure) -> Block {
        var reader = HPACKReader(bytes)
        var block = Block()
        var size = 0
        var mayResize = true
        while let first = reader.nextByte {
            if first & 0xE0 == 0x20 {
                guard mayResize else { throw .compression("a change of the table's size behind a field") }
                let limit = try reader.integer(prefix: 5)
                guard limit <= tableLimit else { throw .compression("a table of \(limit) bytes") }
                table.resize(limit)
                continue
            }
            mayResize = false
            let field = try field(first, &reader)
            size += field.size
            if size <= listLimit, !block.isTooLong { block.fields.append(field) } else { block.isTooLong = true }
        }
        return block
    }

    private mutating func field(_ first: UInt8, _ reader: inout HPACKReader) throws(HTTP2Failure) -> HPACKField {
        if first & 0x80 != 0 { return try entry(try reader.integer(prefix: 7)) }
        let isAdded = first & 0x40 != 0
        let index = try reader.integer(prefix: isAdded ? 6 : 4)
        let name = try index == 0 ? reader.string() : entry(index).name
        let field = HPACKField(name, try reader.string())
        if isAdded { table.add(field) }
        return field
    }

    private func entry(_ index: Int) throws(HTTP2Failure) -> HPACKField {
        let known = HPACKStaticTable.fields
        if index >= 1, index <= known.count { return known[index - 1] }
        let later = index - known.count - 1
        guard later >= 0, later < table.fields.count else { throw .compression("the index \(index)") }
        return table.fields[later]
    }
}

/// The dynamic table, latest field first. The oldest fields are evicted while the size exceeds the limit.
struct HPACKDynamicTable {
    private(set) var fields: [HPACKField] = []
    private(set) var size = 0
    private var limit: Int

    init(limit: Int) { self.limit = limit }

    mutating func add(_ field: HPACKField) {
        fields.insert(field, at: 0)
        size += field.size
        shrink()
    }

    mutating func resize(_ limit: Int) {
        self.limit = limit
        shrink()
    }

    private mutating func shrink() {
        while size > limit, let oldest = fields.popLast() { size -= oldest.size }
    }
}

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

/// Reads HPACK's integers and strings from a header block (RFC 7541, 5).
struct HPACKReader {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { position == bytes.count }

    /// The next byte, whose leading bits tell the kind of representation; `nil` at the end.
    var nextByte: UInt8? { isAtEnd ? nil : bytes[position] }

    /// Reads an integer that starts in the last `prefix` bits of the next byte.
    mutating func integer(prefix: Int) throws(HTTP2Failure) -> Int {
        let most = (1 << prefix) - 1
        let first = Int(try byte()) & most
        guard first == most else { return first }
        var value = most
        // At most four more bytes, 28 bits: enough for every length and index here, and a bound on padding with zeros.
        for shift in stride(from: 0, through: 21, by: 7) {
            let next = try byte()
            value += Int(next & 0x7F) << shift
            if next & 0x80 == 0 { return value }
        }
        throw .compression("an integer above 28 bits")
    }

    /// Reads a string, plain or Huffman-coded.
    mutating func string() throws(HTTP2Failure) -> [UInt8] {
        let isCoded = (nextByte ?? 0) & 0x80 != 0
        let count = try integer(prefix: 7)
        guard count <= bytes.count - position else { throw .compression("a string beyond its block") }
        let text = bytes[position..<position + count]
        position += count
        guard isCoded else { return Array(text) }
        guard let decoded = HuffmanCode.shared.decode(text) else { throw .compression("a broken Huffman code") }
        return decoded
    }

    private mutating func byte() throws(HTTP2Failure) -> UInt8 {
        guard let next = nextByte else { throw .compression("a header block that ends early") }
        position += 1
        return next
    }
}

/// A field in HPACK, as bytes, because table sizes count bytes.
struct HPACKField: Hashable {
    var name: [UInt8]
    var value: [UInt8]

    init(_ name: [UInt8], _ value: [UInt8]) {
        self.name = name
        self.value = value
    }

    init(_ name: String, _ value: String) { self.init(Array(name.utf8), Array(value.utf8)) }

    /// The size that the field counts as in tables and header lists (RFC 7541, 4.1).
    var size: Int { name.count + value.count + 32 }
}
