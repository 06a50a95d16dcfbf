public import Foundation

// The format is stable: later versions of Curlew read what earlier ones have written, or treat it as a miss.
//
//     version   one byte, 1
//     texts     length (LEB128), UTF-8
//     numbers   LEB128, signed ones zigzag
//     dates     milliseconds since 1970, a number
extension CacheEntry {
    /// The entry as bytes, for stores outside the process. The encoding contains no checksum.
    public var encoded: Data {
        var writer = EntryWriter()
        writer.append(byte: 1)
        writer.append(id)
        writer.append(key.url)
        writer.append(key.partition)
        writer.append(variant)
        writer.append(varyingFields.count)
        for name in varyingFields { writer.append(name) }
        writer.append(response.head)
        writer.append(response.requestTime)
        writer.append(response.responseTime)
        writer.append(byte: (response.isContentDecoded ? 1 : 0) | (lifetime.canBeValidated ? 2 : 0))
        writer.append(lifetime.freshUntil)
        writer.append(lifetime.usableUntil)
        return Data(writer.bytes)
    }

    /// Decodes an entry. `nil` if the bytes are not an entry or have a later version. A store treats that as a damaged
    /// entry: a miss, and a reason to remove it.
    public init?(encoded: Data) {
        var reader = EntryReader(Array(encoded))
        do throws(EntryReader.Damage) {
            guard try reader.byte() == 1 else { return nil }
            let id = try reader.text()
            let key = CacheKey(url: try reader.text(), partition: try reader.text())
            let variant = try reader.text()
            let varyingFields = try reader.texts()
            let head = try reader.head()
            let (requestTime, responseTime) = (try reader.date(), try reader.date())
            let flags = try reader.byte()
            let (freshUntil, usableUntil) = (try reader.date(), try reader.date())
            guard reader.isAtEnd, flags < 4 else { return nil }
            self.init(
                id: id,
                key: key,
                variant: variant,
                varyingFields: varyingFields,
                response: StoredResponse(
                    head: head,
                    requestTime: requestTime,
                    responseTime: responseTime,
                    isContentDecoded: flags & 1 != 0
                ),
                lifetime: CacheLifetime(
                    freshUntil: freshUntil,
                    usableUntil: usableUntil,
                    canBeValidated: flags & 2 != 0
                )
            )
        } catch {
            return nil
        }
    }
}

/// Writes the parts of an encoded entry.
private struct EntryWriter {
    private(set) var bytes: [UInt8] = []

    mutating func append(byte: UInt8) { bytes.append(byte) }

    mutating func append(_ number: Int) {
        var rest = UInt64(bitPattern: Int64(number))
        while rest > 0x7F {
            bytes.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    mutating func append(signed number: Int64) { append(Int((number << 1) ^ (number >> 63))) }

    mutating func append(_ text: String) {
        append(text.utf8.count)
        bytes.append(contentsOf: text.utf8)
    }

    /// The range of dates that can be encoded. Dates outside of it are clamped.
    static let milliseconds: ClosedRange<Int64> = -1_000_000_000_000_000...1_000_000_000_000_000

    mutating func append(_ date: Date) {
        let milliseconds = date.timeIntervalSince1970 * 1000
        let (first, last) = (Double(Self.milliseconds.lowerBound), Double(Self.milliseconds.upperBound))
        append(signed: milliseconds.isNaN ? 0 : Int64(min(max(milliseconds.rounded(), first), last)))
    }

    mutating func append(_ head: ResponseHead) {
        append(head.status)
        append(head.reason)
        append(head.version.rawValue)
        append(head.headers.count)
        for field in head.headers {
            append(field.name)
            append(field.value)
        }
    }
}

/// Reads the parts of an encoded entry. The bytes are untrusted: every length is checked before it is used.
private struct EntryReader {
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
