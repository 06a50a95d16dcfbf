internal import Foundation

/// Reads the parts of an encoded entry. The bytes are untrusted: every length is checked before it is used.
struct EntryReader {
    /// The bytes are not an encoded entry.
    struct Damage: Error {}

    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { position == bytes.count }

    mutating func byte() throws(Damage) -> UInt8 {
        guard position < bytes.count else { throw Damage() }
        defer { position += 1 }
        return bytes[position]
    }

    private mutating func bits() throws(Damage) -> UInt64 {
        var (value, shift): (UInt64, UInt64) = (0, 0)
        while true {
            let byte = try byte()
            // The tenth byte of a 64-bit number has room for one bit.
            guard shift < 63 || (shift == 63 && byte <= 1) else { throw Damage() }
            value |= UInt64(byte & 0x7F) << shift
            guard byte & 0x80 != 0 else { return value }
            shift += 7
        }
    }

    mutating func number() throws(Damage) -> Int {
        guard let number = Int(exactly: try bits()) else { throw Damage() }
        return number
    }

    /// Reads the number of parts that follow, each of at least `size` bytes. Rejects a count that the remaining bytes
    /// cannot hold.
    private mutating func count(ofSize size: Int) throws(Damage) -> Int {
        let count = try number()
        guard count <= (bytes.count - position) / size else { throw Damage() }
        return count
    }

    mutating func text() throws(Damage) -> String {
        let length = try count(ofSize: 1)
        defer { position += length }
        guard let text = Self.text(bytes[position..<position + length]) else { throw Damage() }
        return text
    }

    private static func text(_ bytes: ArraySlice<UInt8>) -> String? {
        bytes.withUnsafeBufferPointer { bytes in
            // ASCII is valid UTF-8 and needs no validation.
            bytes.allSatisfy { $0 < 0x80 }
                ? String(decoding: bytes, as: UTF8.self) : String(validating: bytes, as: UTF8.self)
        }
    }

    mutating func texts() throws(Damage) -> [String] {
        var texts: [String] = []
        for _ in 0..<(try count(ofSize: 1)) { texts.append(try text()) }
        return texts
    }

    mutating func date() throws(Damage) -> Date {
        let bits = try bits()
        let milliseconds = Int64(bitPattern: bits >> 1) ^ -Int64(bits & 1)
        guard EntryWriter.milliseconds.contains(milliseconds) else { throw Damage() }
        return Date(timeIntervalSince1970: Double(milliseconds) / 1000)
    }

    mutating func head() throws(Damage) -> ResponseHead {
        let status = try number()
        let reason = try text()
        guard (100...999).contains(status), reason.isHTTPFieldValue else { throw Damage() }
        guard let version = HTTPVersion(rawValue: try text()) else { throw Damage() }
        var fields: [HTTPHeader] = []
        for _ in 0..<(try count(ofSize: 2)) {
            let field = HTTPHeader(name: try text(), value: try text())
            // Validators are sent again, and heads are written to files: a line end must not split a field in two.
            guard !field.name.isEmpty, field.name.isHTTPFieldValue, field.value.isHTTPFieldValue else { throw Damage() }
            fields.append(field)
        }
        return ResponseHead(status: status, reason: reason, version: version, headers: HTTPHeaders(received: fields))
    }
}
