internal import CCurl
internal import Glibc

/// Decides which addresses a transport with `.publicOnly` refuses: all that do not belong to the public internet.
enum AddressGuard {
    /// The text of an address that is refused; `nil` if it may be connected to.
    static func refusal(of address: UnsafePointer<sockaddr>) -> String? {
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { pointer in
                let value = UInt32(bigEndian: pointer.pointee.sin_addr.s_addr)
                return isPublic(v4: value) ? nil : text(v4: value)
            }
        case AF_INET6:
            // curl_sockaddr has room for an IPv6 address; `sockaddr` is shorter, so the bytes are copied out.
            var copy = sockaddr_in6()
            memcpy(&copy, address, MemoryLayout<sockaddr_in6>.size)
            let bytes = withUnsafeBytes(of: copy.sin6_addr) { Array($0) }
            return isPublic(v6: bytes) ? nil : text(v6: bytes)
        default:
            return "a local socket"
        }
    }

    /// The special-purpose blocks of RFC 6890 and its registry, multicast and reserved space.
    private static let refusedV4: [(base: UInt32, bits: UInt32)] = [
        (0x0000_0000, 8), (0x0A00_0000, 8), (0x6440_0000, 10), (0x7F00_0000, 8), (0xA9FE_0000, 16),
        (0xAC10_0000, 12), (0xC000_0000, 24), (0xC000_0200, 24), (0xC058_6300, 24), (0xC0A8_0000, 16),
        (0xC612_0000, 15), (0xC633_6400, 24), (0xCB00_7100, 24), (0xE000_0000, 4), (0xF000_0000, 4),
    ]

    static func isPublic(v4 address: UInt32) -> Bool {
        refusedV4.allSatisfy { (address ^ $0.base) >> (32 - $0.bits) != 0 }
    }

    static func isPublic(v6 bytes: [UInt8]) -> Bool {
        guard bytes.count == 16 else { return false }
        let v4 = { (index: Int) in bytes[index..<(index + 4)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } }
        let leadingZeros = bytes.prefix { $0 == 0 }.count
        // ::ffff:a.b.c.d carries an IPv4 address that decides. ::a.b.c.d, ::1 and :: are refused.
        if leadingZeros == 10, bytes[10] == 0xFF, bytes[11] == 0xFF { return isPublic(v4: v4(12)) }
        if leadingZeros >= 12 { return false }
        // 64:ff9b::/96 (NAT64) and 2002::/16 (6to4) carry an IPv4 address that decides. The rest of 64:ff9b::/32, which
        // includes the local NAT64 prefix 64:ff9b:1::/48, is refused.
        if bytes[0] == 0x00, bytes[1] == 0x64, bytes[2] == 0xFF, bytes[3] == 0x9B {
            return bytes[4..<12].allSatisfy { $0 == 0 } && isPublic(v4: v4(12))
        }
        if bytes[0] == 0x20, bytes[1] == 0x02 { return isPublic(v4: v4(2)) }
        // Only 2000::/3 is global unicast. Its blocks for Teredo, benchmarking, ORCHID and documentation are refused.
        guard bytes[0] & 0xE0 == 0x20 else { return false }
        if bytes[0] == 0x20, bytes[1] == 0x01 {
            if bytes[2] == 0x0D, bytes[3] == 0xB8 { return false }
            if bytes[2] < 0x02 { return false }
            if bytes[2] == 0x00, bytes[3] == 0x02 { return false }
        }
        return !(bytes[0] == 0x3F && bytes[1] == 0xFF && bytes[2] & 0xF0 == 0)
    }

    private static func text(v4 address: UInt32) -> String {
        "\(address >> 24).\(address >> 16 & 255).\(address >> 8 & 255).\(address & 255)"
    }

    private static func text(v6 bytes: [UInt8]) -> String {
        stride(from: 0, to: 16, by: 2).map { String(UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]), radix: 16) }
            .joined(separator: ":")
    }
}
