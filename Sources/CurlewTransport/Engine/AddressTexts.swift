internal import Glibc

/// `address:port` of both ends of connections, IPv6 in brackets.
///
/// A connection that serves many transfers has the same two each time: they are made once and found again
/// by what libcurl says.
struct AddressTexts {
    private struct Entry {
        var port = -1
        /// As libcurl says it.
        var address: [CChar] = []
        var text = ""
    }

    private static let slots = 256
    /// No address is longer; a Unix socket's path may be, and is cut.
    private static let longest = 100

    private var entries = [Entry](repeating: Entry(), count: slots)

    /// nil where there is no address.
    mutating func text(_ address: UnsafePointer<CChar>?, _ port: Int) -> String? {
        guard let address, address.pointee != 0 else { return nil }
        var hash = UInt(bitPattern: port)
        var length = 0
        while length < Self.longest, address[length] != 0 {
            hash = hash &* 31 &+ UInt(UInt8(bitPattern: address[length]))
            length += 1
        }
        let slot = Int((hash &* 0x9E37_79B9_7F4A_7C15) >> 56) % Self.slots
        let isKnown =
            entries[slot].port == port && entries[slot].address.count == length
            && entries[slot].address.withUnsafeBufferPointer { known in
                known.baseAddress.map { memcmp($0, address, length) == 0 } ?? false
            }
        if isKnown { return entries[slot].text }
        let bytes = UnsafeRawBufferPointer(start: address, count: length)
        let bare = String(decoding: bytes, as: UTF8.self)
        let host = port != 0 && bytes.contains(UInt8(ascii: ":")) ? "[\(bare)]" : bare
        let made = Entry(
            port: port,
            address: Array(UnsafeBufferPointer(start: address, count: length)),
            text: port > 0 ? "\(host):\(port)" : host
        )
        entries[slot] = made
        return made.text
    }
}
