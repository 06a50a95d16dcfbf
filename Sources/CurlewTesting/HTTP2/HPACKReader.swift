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
