internal import CurlewCore
internal import Foundation

/// A URL as libcurl gets it, with the few facts that planning needs; found by one look at its bytes.
struct WireURL {
    let string: String
    let isTLS: Bool
    /// Without brackets, in the case it was written.
    let host: String
    let port: Int

    init(_ url: URL) throws(CurlewError) {
        string = url.absoluteString
        var parts: (isTLS: Bool, host: String, port: Int)?
        var copy = string
        parts = copy.withUTF8 { Self.parse($0) }
        guard let parts else {
            throw CurlewError(
                .invalidURL,
                phase: .creation,
                reason: "an absolute http or https URL with a host is needed",
                url: url
            )
        }
        (isTLS, host, port) = parts
    }

    private static func parse(_ bytes: UnsafeBufferPointer<UInt8>) -> (isTLS: Bool, host: String, port: Int)? {
        // Raw spaces, controls and non-ASCII never belong in a request line.
        var isPrintable = true
        for byte in bytes { isPrintable = isPrintable && byte &- 0x21 < 0x5E }
        guard isPrintable else { return nil }
        let isTLS: Bool
        let start: Int
        if matches(bytes, "https://") {
            (isTLS, start) = (true, 8)
        } else if matches(bytes, "http://") {
            (isTLS, start) = (false, 7)
        } else {
            return nil
        }
        let rest = bytes[start...]
        let isEnd: (UInt8) -> Bool = {
            $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#")
        }
        var authority = rest[..<(rest.firstIndex(where: isEnd) ?? rest.endIndex)]
        if authority.contains(UInt8(ascii: "\\")) { return nil }
        if let at = authority.lastIndex(of: UInt8(ascii: "@")) { authority = authority[(at + 1)...] }
        var portBytes = authority[authority.endIndex...]
        var hostBytes = authority
        if authority.first == UInt8(ascii: "[") {
            guard let close = authority.firstIndex(of: UInt8(ascii: "]")) else { return nil }
            hostBytes = authority[(authority.startIndex + 1)..<close]
            portBytes = authority[(close + 1)...]
            guard portBytes.isEmpty || portBytes.first == UInt8(ascii: ":") else { return nil }
            portBytes = portBytes.dropFirst()
        } else if let colon = authority.lastIndex(of: UInt8(ascii: ":")) {
            hostBytes = authority[..<colon]
            portBytes = authority[(colon + 1)...]
        }
        guard !hostBytes.isEmpty else { return nil }
        var port = isTLS ? 443 : 80
        if !portBytes.isEmpty {
            guard let parsed = decimal(portBytes), parsed <= 65535 else { return nil }
            port = parsed
        }
        return (isTLS, String(decoding: hostBytes, as: UTF8.self), port)
    }

    private static func matches(_ bytes: UnsafeBufferPointer<UInt8>, _ prefix: StaticString) -> Bool {
        let count = prefix.utf8CodeUnitCount
        guard bytes.count > count else { return false }
        // Letters fold, `:` and `/` stay as they are, and what would become one of them was refused before.
        for index in 0..<count where bytes[index] | 0x20 != prefix.utf8Start[index] { return false }
        return true
    }

    private static func decimal(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Int? {
        guard bytes.count <= 6 else { return nil }
        var value = 0
        for byte in bytes {
            guard ASCII.isDigit(byte) else { return nil }
            value = value * 10 + Int(byte - 0x30)
        }
        return value
    }
}
