internal import Foundation

/// Detects the encoding of a JSON text.
enum JSONText {
    /// Calls `body` with the text in UTF-8, without a byte order mark.
    ///
    /// The encoding follows from the first four bytes, by the rules of `JSONDecoder`.
    static func withUTF8<Result>(
        _ bytes: UnsafeRawBufferPointer,
        _ body: (UnsafeBufferPointer<UInt8>) throws -> Result
    ) throws -> Result {
        let bytes = bytes.bindMemory(to: UInt8.self)
        let (encoding, mark) = encoding(of: bytes)
        let text = UnsafeBufferPointer(rebasing: bytes.dropFirst(mark))
        guard let encoding else { return try body(text) }
        guard var string = String(bytes: text, encoding: encoding) else { throw JSONFault() }
        return try string.withUTF8(body)
    }

    /// Returns the encoding, `nil` for UTF-8, and the length of the byte order mark.
    private static func encoding(of bytes: UnsafeBufferPointer<UInt8>) -> (String.Encoding?, Int) {
        func first(_ at: Int) -> Int { at < bytes.count ? Int(bytes[at]) : -1 }
        switch (first(0), first(1), first(2), first(3)) {
        case (0, 0, 0xfe, 0xff): return (.utf32BigEndian, 4)
        // These bytes are not the mark of UTF-32, but Foundation's decoder takes them for it.
        case (0xfe, 0xff, 0, 0): return (.utf32LittleEndian, 4)
        case (0xfe, 0xff, _, _): return (.utf16BigEndian, 2)
        case (0xff, 0xfe, _, _): return (.utf16LittleEndian, 2)
        case (0xef, 0xbb, 0xbf, _): return (nil, 3)
        case (0, 0, 0, 1...): return (.utf32BigEndian, 0)
        case (0, 1..., 0, 1...): return (.utf16BigEndian, 0)
        case (1..., 0, 0, 0): return (.utf32LittleEndian, 0)
        case (1..., 0, 1..., 0): return (.utf16LittleEndian, 0)
        // A text of one digit.
        case (0, 1..., -1, -1): return (.utf16BigEndian, 0)
        case (1..., 0, -1, -1): return (.utf16LittleEndian, 0)
        case _: return (nil, 0)
        }
    }
}

/// Prepares texts for Foundation's decoder, which crashes on some malformed ones in Swift 6.3.
enum JSON5Text {
    /// Returns the text with a line feed at its end, because Foundation's scanners read beyond the end of some
    /// malformed texts. Numbers on which they crash are replaced by malformed ones that they reject.
    static func harmless(_ text: UnsafeBufferPointer<UInt8>) -> Data {
        var data = Data(capacity: text.count + 1)
        data.append(contentsOf: text)
        data.append(0x0a)
        var at = 0
        while at < text.count {
            switch text[at] {
            case UInt8(ascii: "\""), UInt8(ascii: "'"): at = end(ofString: at, text)
            case UInt8(ascii: "/"): at = end(ofComment: at, text)
            case let byte where isWord(byte):
                let word = text[at...].prefix(while: isWord)
                at = word.endIndex
                if let last = replacement(forLastOf: word) { data[at - 1] = last }
            case _: at += 1
            }
        }
        return data
    }

    /// Returns a last letter that makes a number malformed, if Foundation crashes on the number: `1e+`, and hexadecimal
    /// numbers just below the smallest `Int64`. `nil` for other words.
    private static func replacement(forLastOf word: Slice<UnsafeBufferPointer<UInt8>>) -> UInt8? {
        let text = String(decoding: word, as: UTF8.self).lowercased()
        if text.hasPrefix("-0x") {
            let number = UInt64(text.dropFirst(3), radix: 16) ?? 0
            return 0x8000_0000_0000_0001...0x8000_0000_0000_0400 ~= number ? UInt8(ascii: "g") : nil
        }
        return !text.hasPrefix("0x") && (text.hasSuffix("e+") || text.hasSuffix("e-")) ? UInt8(ascii: "e") : nil
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        let letter = byte | 0x20
        return JSONByte.isDigit(byte) || letter >= UInt8(ascii: "a") && letter <= UInt8(ascii: "z")
            || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "+") || byte == JSONByte.minus
    }

    private static func end(ofString start: Int, _ text: UnsafeBufferPointer<UInt8>) -> Int {
        var at = start + 1
        while at < text.count, text[at] != text[start] { at += text[at] == JSONByte.backslash ? 2 : 1 }
        return at + 1
    }

    private static func end(ofComment start: Int, _ text: UnsafeBufferPointer<UInt8>) -> Int {
        guard start + 1 < text.count else { return text.count }
        var at = start + 2
        switch text[start + 1] {
        case UInt8(ascii: "/"):
            while at < text.count, text[at] != 0x0a, text[at] != 0x0d { at += 1 }
            return at
        case UInt8(ascii: "*"):
            while at < text.count,
                !(text[at - 1] == UInt8(ascii: "*") && text[at] == UInt8(ascii: "/") && at > start + 2)
            {
                at += 1
            }
            return at + 1
        case _: return start + 1
        }
    }
}
