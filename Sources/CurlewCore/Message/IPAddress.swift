/// An IP address, parsed without the system's resolver.
package enum IPAddress: Hashable, Sendable {
    /// Four bytes.
    case v4([UInt8])
    /// Sixteen bytes.
    case v6([UInt8])

    /// Parses a dotted quad, or IPv6 without brackets; `nil` for anything else. A zone (`%eth0`), which names an interface
    /// of this machine, is ignored, or makes the text unacceptable.
    package init?(_ text: String, allowsZone: Bool = true) {
        if !allowsZone, text.utf8.contains(UInt8(ascii: "%")) { return nil }
        if let bytes = Self.quad(text[...].utf8) {
            self = .v4(bytes)
        } else if let bytes = Self.colons(text) {
            self = .v6(bytes)
        } else {
            return nil
        }
    }

    package var bytes: [UInt8] {
        switch self {
        case .v4(let bytes), .v6(let bytes): bytes
        }
    }

    /// Whether the address is one of this machine alone: 127.0.0.0/8 or `::1`.
    package var isLoopback: Bool {
        switch self {
        case .v4(let bytes): bytes[0] == 127
        case .v6(let bytes): bytes.dropLast().allSatisfy { $0 == 0 } && bytes[15] == 1
        }
    }

    /// Whether the first `bits` of both addresses are equal. False for an IPv4 and an IPv6 address.
    package func shares(prefix bits: Int, with other: IPAddress) -> Bool {
        let (left, right) = (bytes, other.bytes)
        guard left.count == right.count, bits >= 0, bits <= left.count * 8 else { return false }
        let whole = bits / 8
        guard left[..<whole] == right[..<whole] else { return false }
        let rest = bits % 8
        return rest == 0 || (left[whole] ^ right[whole]) >> UInt8(8 - rest) == 0
    }

    private static func quad(_ text: Substring.UTF8View) -> [UInt8]? {
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var bytes: [UInt8] = []
        for part in parts {
            guard (1...3).contains(part.count), part.allSatisfy(ASCII.isDigit), part.count == 1 || part.first != 0x30,
                let number = ASCII.number(part), number < 256
            else { return nil }
            bytes.append(UInt8(number))
        }
        return bytes
    }

    /// Returns the dotted quad of an IPv4 address in any form that the C library and browsers accept: up to four
    /// decimal, octal (`0177`) or hexadecimal (`0x7f`) numbers, of which the last fills the remaining bytes. `nil` for
    /// other hosts.
    package static func quad(ofNumbers host: String) -> String? {
        guard let last = host.utf8.last,
            ASCII.isHexDigit(last) || last == UInt8(ascii: "x") || last == UInt8(ascii: "X"),
            let first = host.utf8.first, ASCII.isDigit(first)
        else { return nil }
        let parts = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count <= 4 else { return nil }
        var value: UInt64 = 0
        for (index, part) in parts.enumerated() {
            guard let number = number(part) else { return nil }
            let isLast = index == parts.count - 1
            let bits = isLast ? UInt64(8 * (5 - parts.count)) : 8
            guard number >> bits == 0 else { return nil }
            value = value << bits | number
        }
        return (0..<4).map { "\(value >> UInt64(24 - 8 * $0) & 0xFF)" }.joined(separator: ".")
    }

    private static func number(_ part: Substring.UTF8View) -> UInt64? {
        let text = String(decoding: part, as: UTF8.self)
        // The standard library's parser would accept a sign.
        guard let first = part.first, ASCII.isDigit(first) else { return nil }
        if text.hasPrefix("0x") || text.hasPrefix("0X") {
            let digits = text.dropFirst(2)
            // A prefix alone is zero, as in browsers.
            if digits.isEmpty { return 0 }
            return digits.utf8.allSatisfy(ASCII.isHexDigit) ? UInt64(digits, radix: 16) : nil
        }
        guard part.allSatisfy(ASCII.isDigit) else { return nil }
        return UInt64(text, radix: text.count > 1 && first == UInt8(ascii: "0") ? 8 : 10)
    }

    private static func colons(_ text: String) -> [UInt8]? {
        let address = text.utf8.prefix { $0 != UInt8(ascii: "%") }
        var parts = address.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard (3...9).contains(parts.count) else { return nil }
        // A `::` at either end leaves two empty parts there.
        if parts[0].isEmpty {
            guard parts[1].isEmpty else { return nil }
            parts.removeFirst()
        }
        if parts[parts.count - 1].isEmpty {
            guard parts[parts.count - 2].isEmpty else { return nil }
            parts.removeLast()
        }
        var groups: [UInt8] = []
        var gap: Int?
        for (index, part) in parts.enumerated() {
            if part.isEmpty {
                guard gap == nil else { return nil }
                gap = groups.count
            } else if index == parts.count - 1, part.contains(UInt8(ascii: ".")) {
                guard let quad = quad(part) else { return nil }
                groups += quad
            } else {
                guard part.count <= 4, part.allSatisfy(ASCII.isHexDigit) else { return nil }
                let value = part.reduce(UInt16(0)) { $0 << 4 | UInt16(ASCII.hexValue($1) ?? 0) }
                groups += [UInt8(value >> 8), UInt8(value & 0xFF)]
            }
        }
        guard let gap else { return groups.count == 16 ? groups : nil }
        guard groups.count <= 14 else { return nil }
        groups.insert(contentsOf: repeatElement(0, count: 16 - groups.count), at: gap)
        return groups
    }
}
