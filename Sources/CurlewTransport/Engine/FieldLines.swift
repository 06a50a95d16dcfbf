internal import CurlewCore

/// Header fields under construction, added one line at a time.
struct FieldLines {
    private var fields: [HTTPHeader] = []
    /// The value of the last field while folded lines extend it. It is extended in place, because a field of many lines
    /// would otherwise be copied with each of them.
    private var folded: String?

    var isEmpty: Bool { fields.isEmpty }

    mutating func reserveCapacity(_ count: Int) { fields.reserveCapacity(count) }

    mutating func removeAll() {
        fields = []
        folded = nil
    }

    mutating func take(_ text: UnsafeRawBufferPointer) {
        if HeadCollector.isFolded(text[0]) { return fold(text) }
        if folded != nil { settle() }
        guard let colon = text.firstIndex(of: UInt8(ascii: ":")), colon > 0 else { return }
        let name = String(decoding: Self.trimmed(UnsafeRawBufferPointer(rebasing: text[..<colon])), as: UTF8.self)
        let bytes = Self.trimmed(UnsafeRawBufferPointer(rebasing: text[(colon + 1)...]))
        let value =
            RedirectLocation.isName(name) ? RedirectLocation.text(of: bytes) : String(decoding: bytes, as: UTF8.self)
        fields.append(HTTPHeader(name: name, value: value))
    }

    /// Appends a folded line to the value before it (RFC 9112, 5.2).
    private mutating func fold(_ text: UnsafeRawBufferPointer) {
        if folded == nil { folded = fields.last?.value }
        folded?.append(" ")
        folded?.append(String(decoding: Self.trimmed(text), as: UTF8.self))
    }

    private mutating func settle() {
        guard let value = folded, let last = fields.popLast() else { return }
        fields.append(HTTPHeader(name: last.name, value: value))
        folded = nil
    }

    /// The fields received so far.
    var all: [HTTPHeader] {
        guard folded != nil else { return fields }
        var settled = self
        settled.settle()
        return settled.fields
    }

    private static func trimmed(_ text: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        var (start, end) = (0, text.count)
        while start < end, text[start] == 0x20 || text[start] == 0x09 { start += 1 }
        while end > start, text[end - 1] == 0x20 || text[end - 1] == 0x09 { end -= 1 }
        return UnsafeRawBufferPointer(rebasing: text[start..<end])
    }
}
