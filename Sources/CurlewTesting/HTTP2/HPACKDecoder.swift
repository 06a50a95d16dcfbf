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
