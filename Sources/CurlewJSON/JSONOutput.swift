internal import Foundation

/// The buffer of a text that is being written.
struct JSONOutput {
    /// The free bytes after every reservation, so that eight bytes can always be stored or loaded.
    private static let slack = 16

    // Less than 1,024 bytes: for larger requests malloc first merges freed blocks.
    private static let firstCapacity = 1000

    private(set) var start: UnsafeMutablePointer<UInt8>
    private(set) var count = 0
    private var capacity: Int
    private let escapesSlashes: Bool

    init(escapesSlashes: Bool) {
        self.escapesSlashes = escapesSlashes
        capacity = Self.firstCapacity
        start = Self.allocate(capacity)
    }

    func deallocate() { free(start) }

    /// Returns the text. The output is empty afterwards.
    mutating func take() -> Data {
        if capacity == Self.firstCapacity {
            // For a short text a copy is faster than `realloc`. The memory stays for a type that writes after the end.
            let data = Data(bytes: start, count: count)
            count = 0
            return data
        }
        let data = Data(
            bytesNoCopy: realloc(start, max(count, 1)) ?? UnsafeMutableRawPointer(start), count: count,
            deallocator: .free)
        (capacity, count) = (16, 0)
        start = Self.allocate(capacity)
        return data
    }

    private static func allocate(_ count: Int) -> UnsafeMutablePointer<UInt8> {
        // If there is no memory, the standard library's allocation ends the process.
        (malloc(count) ?? .allocate(byteCount: count, alignment: 16)).assumingMemoryBound(to: UInt8.self)
    }

    /// Makes room for `more` bytes.
    private mutating func reserve(_ more: Int) {
        if count &+ more &+ Self.slack > capacity { grow(more) }
    }

    private mutating func grow(_ more: Int) {
        capacity = max(capacity * 2, count + more + Self.slack)
        if let larger = realloc(start, capacity) {
            start = larger.assumingMemoryBound(to: UInt8.self)
        } else {
            let larger = Self.allocate(capacity)
            larger.update(from: start, count: count)
            free(start)
            start = larger
        }
    }

    /// Removes all bytes after the first `count`.
    mutating func truncate(to count: Int) { self.count = count }

    mutating func byte(_ byte: UInt8) {
        reserve(1)
        start[count] = byte
        count &+= 1
    }

    /// Appends bytes that need no escapes.
    mutating func bytes(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let source = bytes.baseAddress else { return }
        reserve(bytes.count)
        (start + count).update(from: source, count: bytes.count)
        count &+= bytes.count
    }

    mutating func literal(_ text: StaticString) {
        bytes(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func lineBreak(indentation: Int) {
        reserve(1 + 2 * indentation)
        start[count] = 0x0a
        (start + count + 1).update(repeating: 0x20, count: 2 * indentation)
        count &+= 1 &+ 2 &* indentation
    }
}

// Strings.
extension JSONOutput {
    mutating func string(_ string: String) {
        // Only a bridged string would have to be copied.
        if string.utf8.withContiguousStorageIfAvailable({ quoted($0) }) == nil {
            quotedSlowly(string)
        }
    }

    private mutating func quotedSlowly(_ string: String) { Array(string.utf8).withUnsafeBufferPointer { quoted($0) } }

    /// Appends UTF-8 between quotes, with escapes.
    mutating func quoted(_ text: UnsafeBufferPointer<UInt8>) {
        reserve(text.count &+ 2)
        start[count] = JSONByte.quote
        count &+= 1
        var at = 0
        if let source = text.baseAddress {
            while at < text.count {
                let rest = text.count &- at
                let word = rest >= 8 ? JSONBytes.load(source + at) : JSONBytes.loadLast(source, at, text.count)
                var ends = JSONBytes.endsOfPlainText(word)
                if escapesSlashes { ends |= JSONBytes.slashes(word) }
                // The bytes from the first special one on are overwritten.
                UnsafeMutableRawPointer(start + count).storeBytes(of: word.littleEndian, as: UInt64.self)
                let length = min(ends.trailingZeroBitCount &>> 3, rest)
                at &+= length
                count &+= length
                if ends == 0 { continue }
                escape(source[at], remaining: text.count &- at)
                at &+= 1
            }
        }
        start[count] = JSONByte.quote
        count &+= 1
    }

    private mutating func escape(_ byte: UInt8, remaining: Int) {
        // Room for this escape, the rest of the text, and the quote.
        reserve(remaining + 8)
        start[count] = JSONByte.backslash
        let letter: UInt8
        switch byte {
        case 0x08: letter = UInt8(ascii: "b")
        case 0x09: letter = UInt8(ascii: "t")
        case 0x0a: letter = UInt8(ascii: "n")
        case 0x0c: letter = UInt8(ascii: "f")
        case 0x0d: letter = UInt8(ascii: "r")
        case 0..<0x20:
            // `\u00` and two digits.
            start[count + 1] = UInt8(ascii: "u")
            (start + count + 2).update(repeating: JSONByte.zero, count: 2)
            start[count + 4] = JSONByte.zero + byte >> 4
            let digit = byte & 15
            start[count + 5] = digit < 10 ? JSONByte.zero + digit : UInt8(ascii: "a") - 10 + digit
            count += 6
            return
        case _: letter = byte
        }
        start[count + 1] = letter
        count += 2
    }
}

// A number writes its description here directly, without an intermediate string.
extension JSONOutput: TextOutputStream {
    mutating func write(_ string: String) {
        var string = string
        string.withUTF8 { bytes($0) }
    }

    /// Called by the standard library with the digits of a floating-point number. The default implementation makes a
    /// string and calls `write(_:)`, so the text does not depend on this method.
    mutating func _writeASCII(_ buffer: UnsafeBufferPointer<UInt8>) { bytes(buffer) }
}

// Numbers.
extension JSONOutput {
    mutating func integer(_ magnitude: UInt64, isNegative: Bool) {
        reserve(21)
        if isNegative {
            start[count] = JSONByte.minus
            count &+= 1
        }
        var (digits, rest) = (1, magnitude)
        while rest >= 10 {
            digits &+= 1
            rest /= 10
        }
        rest = magnitude
        var at = count &+ digits
        count = at
        repeat {
            at &-= 1
            start[at] = JSONByte.zero &+ UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
            digits &-= 1
        } while digits > 0
    }

    mutating func integer(_ value: some FixedWidthInteger) {
        if let small = UInt64(exactly: value.magnitude) {
            integer(small, isNegative: value < 0)
        } else {
            var text = "\(value)"
            text.withUTF8 { bytes($0) }
        }
    }

    /// Appends the description of a finite number, without a trailing `.0`.
    mutating func number(_ value: some TextOutputStreamable) {
        let first = count
        value.write(to: &self)
        if count &- first > 2, start[count &- 1] == JSONByte.zero, start[count &- 2] == UInt8(ascii: ".") {
            count &-= 2
        }
    }

    /// Appends Base64 between quotes. Slashes are escaped as in strings.
    mutating func base64(_ data: Data) {
        byte(JSONByte.quote)
        data.withUnsafeBytes { source in
            reserve((source.count + 2) / 3 * 8 + 1)
            var at = 0
            while at < source.count {
                let rest = source.count &- at
                let group =
                    UInt32(source[at]) << 16 | (rest > 1 ? UInt32(source[at &+ 1]) << 8 : 0)
                    | (rest > 2 ? UInt32(source[at &+ 2]) : 0)
                for place in 0..<4 {
                    guard place <= rest else {
                        start[count] = UInt8(ascii: "=")
                        count &+= 1
                        continue
                    }
                    let digit = Self.base64Digit(UInt8(truncatingIfNeeded: group >> UInt32(18 - 6 * place) & 63))
                    if digit == JSONByte.slash, escapesSlashes {
                        start[count] = JSONByte.backslash
                        count &+= 1
                    }
                    start[count] = digit
                    count &+= 1
                }
                at &+= 3
            }
        }
        byte(JSONByte.quote)
    }

    private static func base64Digit(_ value: UInt8) -> UInt8 {
        switch value {
        case 0..<26: UInt8(ascii: "A") &+ value
        case 26..<52: UInt8(ascii: "a") &+ value &- 26
        case 52..<62: UInt8(ascii: "0") &+ value &- 52
        case 62: UInt8(ascii: "+")
        case _: JSONByte.slash
        }
    }
}
