/// Reads a text once and writes its tape.
///
/// It accepts exactly the texts that Foundation's scanner accepts. It checks the structure and permits a comma before a
/// closing bracket. The contents of strings and numbers are checked when a type reads them.
struct JSONTapeBuilder {
    /// The maximum depth of nested arrays and objects.
    static let depthLimit = 512
    /// The maximum number of keys of an object without an index.
    static let keyLimit = 48

    private let start: UnsafePointer<UInt8>
    private let end: UnsafePointer<UInt8>
    private var at: UnsafePointer<UInt8>
    private var tape: JSONTape
    private var depth = 0
    /// The place of the open array or object; -1 if there is none. Until it is closed, its word holds the count and, as
    /// its end, the parent's place plus one.
    private var open = -1

    /// Returns the tape, and the place of a null after its values.
    static func tape(
        of text: UnsafePointer<UInt8>,
        count: Int,
        memory: JSONTapeMemory?
    ) throws(JSONFault) -> (JSONTapeWords, Int) {
        var builder = JSONTapeBuilder(text, count, memory)
        do throws(JSONFault) {
            try builder.build()
        } catch {
            builder.tape.words.deallocate()
            throw error
        }
        builder.tape.reserve(at: count)
        builder.tape.append(JSONWord(.null))
        return (builder.tape.finished(), builder.tape.count - 1)
    }

    private init(_ text: UnsafePointer<UInt8>, _ count: Int, _ memory: JSONTapeMemory?) {
        start = text
        end = text + count
        at = text
        tape = JSONTape(textCount: count, memory: memory)
    }

    private mutating func build() throws(JSONFault) {
        var byte = try next()
        while true {
            tape.reserve(at: at - start)
            switch byte {
            case JSONByte.quote: try string()
            case JSONByte.openBrace:
                try enter(.object)
                if try next() == JSONByte.closeBrace {
                    at += 1
                    leave()
                } else {
                    byte = try key()
                    continue
                }
            case JSONByte.openBracket:
                try enter(.array)
                byte = try next()
                guard byte == JSONByte.closeBracket else { continue }
                at += 1
                leave()
            case JSONByte.minus, UInt8(ascii: "0")...UInt8(ascii: "9"): number(byte)
            case UInt8(ascii: "t"): try literal("true", .true)
            case UInt8(ascii: "f"): try literal("false", .false)
            case UInt8(ascii: "n"): try literal("null", .null)
            case _: throw JSONFault()
            }
            guard let following = try afterValue() else { return }
            byte = following
        }
    }

    /// Closes the arrays and objects that end here. Returns the first byte of the next value; `nil` at the end of the
    /// text.
    private mutating func afterValue() throws(JSONFault) -> UInt8? {
        while open >= 0 {
            tape.words[open] &+= JSONWord.one
            let isObject = JSONWord(bits: tape.words[open]).kind != .array
            let close = isObject ? JSONByte.closeBrace : JSONByte.closeBracket
            var byte = try next()
            at += 1
            if byte == JSONByte.comma {
                byte = try next()
                if byte != close { return isObject ? try key() : byte }
                at += 1
            } else if byte != close {
                throw JSONFault()
            }
            leave()
        }
        while at < end {
            guard JSONByte.isSpace(at.pointee) else { throw JSONFault() }
            at += 1
        }
        return nil
    }

    /// Skips spaces and returns the next byte without consuming it.
    private mutating func next() throws(JSONFault) -> UInt8 {
        while at < end {
            let byte = at.pointee
            if !JSONByte.isSpace(byte) { return byte }
            at += 1
        }
        throw JSONFault()
    }

    private mutating func enter(_ kind: JSONKind) throws(JSONFault) {
        at += 1
        guard depth < Self.depthLimit else { throw JSONFault() }
        depth &+= 1
        let place = tape.count
        tape.append(JSONWord(kind, 0, open &+ 1))
        // The second word of an object holds the marks of its keys.
        if kind == .object { tape.append(JSONWord(bits: 0)) }
        open = place
    }

    private mutating func leave() {
        let word = JSONWord(bits: tape.words[open])
        tape.words[open] = JSONWord(word.kind, word.count, tape.count).bits
        open = word.end &- 1
        depth &-= 1
    }

    /// Consumes a key and its colon. Returns the first byte of the value.
    private mutating func key() throws(JSONFault) -> UInt8 {
        guard at.pointee == JSONByte.quote else { throw JSONFault() }
        tape.reserve(at: at - start)
        try string()
        checkKey()
        if at < end, at.pointee == JSONByte.colon {
            at += 1
            if at < end, at.pointee > 0x20 { return at.pointee }
            return try next()
        }
        guard try next() == JSONByte.colon else { throw JSONFault() }
        at += 1
        return try next()
    }
}

// Strings, numbers and literals.
extension JSONTapeBuilder {
    private mutating func string() throws(JSONFault) {
        let first = at + 1
        var seen: UInt64 = 0
        let last = Self.endOfPlainText(first, end, &seen)
        guard last < end else { throw JSONFault() }
        guard last.pointee == JSONByte.quote else {
            at = last
            return try escapedString(first)
        }
        let kind = seen & JSONBytes.highBits == 0 ? JSONKind.plainString : .simpleString
        tape.append(JSONWord(kind, first - start, last - first))
        at = last + 1
    }

    /// Returns the first quote, backslash or control character. The bits of all bytes before it are added to `seen`.
    private static func endOfPlainText(
        _ first: UnsafePointer<UInt8>, _ end: UnsafePointer<UInt8>, _ seen: inout UInt64
    ) -> UnsafePointer<UInt8> {
        var at = first
        while at + 8 <= end {
            let word = JSONBytes.load(at)
            let ends = JSONBytes.endsOfPlainText(word)
            if ends != 0 {
                let bits = UInt64(truncatingIfNeeded: ends.trailingZeroBitCount & 0x38)
                seen |= word & ((1 &<< bits) &- 1)
                return at + Int(truncatingIfNeeded: bits &>> 3)
            }
            seen |= word
            at += 8
        }
        // Fewer than eight bytes of the whole text are left.
        while at < end, at.pointee != JSONByte.quote, at.pointee != JSONByte.backslash, at.pointee >= 0x20 {
            seen |= UInt64(at.pointee)
            at += 1
        }
        return at
    }

    private mutating func escapedString(_ first: UnsafePointer<UInt8>) throws(JSONFault) {
        while at < end {
            let byte = at.pointee
            at += 1
            if byte == JSONByte.quote {
                tape.append(JSONWord(.escapedString, first - start, at - first - 1))
                return
            }
            guard byte == JSONByte.backslash else { continue }
            guard at < end else { throw JSONFault() }
            let escaped = at.pointee
            at += 1
            guard escaped == UInt8(ascii: "u") else { continue }
            guard end - at >= 4, !(0..<4).contains(where: { at[$0] == JSONByte.quote }) else { throw JSONFault() }
            at += 4
        }
        throw JSONFault()
    }

    private mutating func number(_ first: UInt8) {
        let begin = at
        at += 1
        while at < end, JSONByte.isDigit(at.pointee) { at += 1 }
        var kind = JSONKind.integer
        while at < end {
            switch at.pointee {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): at += 1
            case UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"), UInt8(ascii: "+"), UInt8(ascii: "-"):
                kind = .number
                at += 1
            case _:
                tape.append(JSONWord(kind, begin - start, at - begin))
                return
            }
        }
        tape.append(JSONWord(kind, begin - start, at - begin))
    }

    private mutating func literal(_ text: StaticString, _ kind: JSONKind) throws(JSONFault) {
        let count = text.utf8CodeUnitCount
        guard end - at >= count, JSONBytes.areEqual(at, text.utf8Start, count) else { throw JSONFault() }
        at += count
        tape.append(JSONWord(kind))
    }

    /// Checks the last key. An object gets an index if its keys are not plain, too many or repeated.
    private mutating func checkKey() {
        let object = JSONWord(bits: tape.words[open])
        guard object.kind == .object else { return }
        let key = JSONWord(bits: tape.words[tape.count &- 1])
        guard key.kind == .plainString, object.count < Self.keyLimit else { return needIndex() }
        let mark = JSONKeyText(start + key.offset, key.length).mark
        let marks = tape.words[open &+ 1]
        // Different keys may have the same mark, so the keys are compared.
        if marks & mark != 0, isRepeated(key, in: open) { return needIndex() }
        tape.words[open &+ 1] = marks | mark
    }

    private mutating func needIndex() {
        let object = JSONWord(bits: tape.words[open])
        tape.words[open] = JSONWord(.indexedObject, object.count, object.end).bits
    }

    private func isRepeated(_ key: JSONWord, in object: Int) -> Bool {
        var place = object + 2
        while place < tape.count - 1 {
            let other = JSONWord(bits: tape.words[place])
            if other.length == key.length,
                JSONBytes.areEqual(start + other.offset, start + key.offset, key.length)
            {
                return true
            }
            let value = JSONWord(bits: tape.words[place + 1])
            place = value.isContainer ? value.end : place + 2
        }
        return false
    }
}
