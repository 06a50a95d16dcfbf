/// Percent-encoding of query keys and values: everything but unreserved characters, `?` and `/` is escaped
/// (Alamofire's `afURLQueryAllowed`; RFC 3986, 3.4 lets those two stand).
package enum PercentEncoding {
    package static func encode(_ text: String) -> String {
        var text = text
        return text.withUTF8 { source in
            let escapes = source.reduce(into: 0) { count, byte in count += isAllowed(byte) ? 0 : 1 }
            if escapes == 0 { return String(decoding: source, as: UTF8.self) }
            return String(unsafeUninitializedCapacity: source.count + 2 * escapes) { target in
                var end = 0
                for byte in source {
                    if isAllowed(byte) {
                        target[end] = byte
                        end += 1
                    } else {
                        target[end] = UInt8(ascii: "%")
                        target[end + 1] = hexDigit(byte >> 4)
                        target[end + 2] = hexDigit(byte & 15)
                        end += 3
                    }
                }
                return end
            }
        }
    }

    /// One bit for each byte below 64, and from 64 to 127.
    private static let allowed: (low: UInt64, high: UInt64) = {
        var masks: (low: UInt64, high: UInt64) = (0, 0)
        for byte in UInt8(0)..<128 {
            let isAllowed = ASCII.isAlpha(byte) || ASCII.isDigit(byte) || "-._~?/".utf8.contains(byte)
            guard isAllowed else { continue }
            if byte < 64 { masks.low |= 1 << UInt64(byte) } else { masks.high |= 1 << UInt64(byte - 64) }
        }
        return masks
    }()

    private static func isAllowed(_ byte: UInt8) -> Bool {
        guard byte < 128 else { return false }
        return (byte < 64 ? allowed.low >> UInt64(byte) : allowed.high >> UInt64(byte - 64)) & 1 == 1
    }

    private static func hexDigit(_ nibble: UInt8) -> UInt8 { nibble < 10 ? 0x30 + nibble : 0x41 - 10 + nibble }
}
