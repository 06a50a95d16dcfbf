// Strings are checked and unescaped when a type asks for them.
extension JSONDocument {
    /// Returns the string at a place; `nil` if the value is not a string.
    func string(at place: Int) throws(JSONFault) -> String? {
        let word = word(at: place)
        switch word.kind {
        case .plainString: return plain(text(of: word))
        case .simpleString: return try valid(text(of: word))
        case .escapedString: return try unescaped(text(of: word))
        case .null, .false, .true, .integer, .number, .array, .object, .indexedObject: return nil
        }
    }

    func text(of word: JSONWord) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: bytes + word.offset, count: word.length)
    }

    /// Makes a string of ASCII. A string of up to 15 bytes is stored inline.
    private func plain(_ text: UnsafeBufferPointer<UInt8>) -> String {
        guard text.count <= 15 else { return String(decoding: text, as: UTF8.self) }
        return String(unsafeUninitializedCapacity: text.count) { $0.update(fromContentsOf: text) }
    }

    private func unescaped(_ text: UnsafeBufferPointer<UInt8>) throws(JSONFault) -> String {
        let string: String? = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: text.count) { buffer in
            guard let count = JSONEscapes.unescape(text, into: buffer) else { return nil }
            return try? valid(UnsafeBufferPointer(rebasing: buffer[..<count]))
        }
        guard let string else { throw JSONFault() }
        return string
    }

    // `String(validating:as:)` takes twice the time: the standard library does not specialize it.
    private func valid(_ text: UnsafeBufferPointer<UInt8>) throws(JSONFault) -> String {
        var string = String(decoding: text, as: UTF8.self)
        // `String(decoding:as:)` has replaced any malformed bytes.
        let isSame = string.withUTF8 { utf8 in
            utf8.count == text.count
                && JSONBytes.areEqual(utf8.baseAddress ?? bytes, text.baseAddress ?? bytes, text.count)
        }
        guard isSame else { throw JSONFault() }
        return string
    }
}

/// Resolves the escapes of strings.
private enum JSONEscapes {
    /// Writes the text without its escapes, which never makes it longer. Returns its length; `nil` if the text is
    /// malformed.
    static func unescape(_ text: UnsafeBufferPointer<UInt8>, into buffer: UnsafeMutableBufferPointer<UInt8>) -> Int? {
        var (at, written) = (0, 0)
        while at < text.count {
            let byte = text[at]
            at += 1
            guard byte != JSONByte.backslash else {
                guard let scalar = scalar(text, &at) else { return nil }
                for unit in UTF8.encode(scalar) ?? .init() {
                    buffer[written] = unit
                    written += 1
                }
                continue
            }
            guard byte >= 0x20 else { return nil }
            buffer[written] = byte
            written += 1
        }
        return written
    }

    private static func scalar(_ text: UnsafeBufferPointer<UInt8>, _ at: inout Int) -> Unicode.Scalar? {
        guard at < text.count else { return nil }
        at += 1
        switch text[at - 1] {
        case UInt8(ascii: "\""): return "\""
        case UInt8(ascii: "\\"): return "\\"
        case UInt8(ascii: "/"): return "/"
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{c}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): break
        case _: return nil
        }
        guard let unit = unit(text, &at) else { return nil }
        guard UTF16.isLeadSurrogate(unit) else { return Unicode.Scalar(unit) }
        guard at + 2 <= text.count, text[at] == JSONByte.backslash, text[at + 1] == UInt8(ascii: "u") else {
            return nil
        }
        at += 2
        guard let trail = self.unit(text, &at), UTF16.isTrailSurrogate(trail) else { return nil }
        return UTF16.decode(UTF16.EncodedScalar([unit, trail]))
    }

    private static func unit(_ text: UnsafeBufferPointer<UInt8>, _ at: inout Int) -> UInt16? {
        guard at + 4 <= text.count else { return nil }
        var unit: UInt16 = 0
        for byte in text[at..<at + 4] {
            let digit: UInt8
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = byte - UInt8(ascii: "A") + 10
            case _: return nil
            }
            unit = unit << 4 | UInt16(digit)
        }
        at += 4
        return unit
    }
}
