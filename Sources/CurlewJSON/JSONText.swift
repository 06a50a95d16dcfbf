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
