internal import CurlewCore
package import Foundation

extension CharacterSet {
    /// The characters that stay unescaped in a query: the query characters of RFC 3986 without the general and sub
    /// delimiters `:#[]@!$&'()*+,;=`; `?` and `/` stay, as section 3.4 allows.
    package static let queryAllowed: CharacterSet = {
        let delimiters = CharacterSet(charactersIn: ":#[]@!$&'()*+,;=")
        return CharacterSet.urlQueryAllowed.subtracting(delimiters)
    }()
}

/// Percent-encodes strings byte by byte, with a table of 128 bits for ASCII.
package struct QueryEscaping: Sendable {
    package static let standard = QueryEscaping(allowed: .queryAllowed)
    /// For forms, which write spaces as plus signs and leave `*` as it is (URL standard, 5.2).
    static let form = QueryEscaping(allowed: .queryAllowed.union(CharacterSet(charactersIn: "*")))

    private let low: UInt64
    private let high: UInt64
    /// The allowed characters beyond ASCII, which the table cannot express. `nil` if there are none.
    private let beyondASCII: CharacterSet?

    init(allowed: CharacterSet) {
        var (low, high): (UInt64, UInt64) = (0, 0)
        for byte in UInt8(0)..<128 where allowed.contains(Unicode.Scalar(byte)) {
            if byte < 64 { low |= 1 << UInt64(byte) } else { high |= 1 << UInt64(byte - 64) }
        }
        self.low = low
        self.high = high
        let rest = allowed.subtracting(CharacterSet(charactersIn: Unicode.Scalar(0)..."\u{7F}"))
        beyondASCII = rest.isEmpty ? nil : rest
    }

    package func escape(_ string: String) -> String {
        if let beyondASCII { return escape(string, beyondASCII: beyondASCII) }
        if string.utf8.allSatisfy(isAllowed) { return string }
        return String(decoding: escaped(string.utf8), as: UTF8.self)
    }

    /// Percent-encodes bytes of any encoding that extends ASCII.
    package func escape(bytes: some Collection<UInt8>) -> String { String(decoding: escaped(bytes), as: UTF8.self) }

    /// Escapes everything in the query that a URL cannot contain (RFC 3986, 3.4), because a caller may allow such
    /// characters. Existing escapes stay; a percent sign that begins none is escaped.
    static func fitForURL(_ query: String) -> String {
        if query.utf8.allSatisfy(inURL.isAllowed) { return query }
        let bytes = Array(query.utf8)
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        for (index, byte) in bytes.enumerated() {
            let stands = byte == 0x25 ? isEscape(bytes[index...]) : inURL.isAllowed(byte)
            if stands { result.append(byte) } else { result += inURL.escaped(CollectionOfOne(byte)) }
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static let inURL = QueryEscaping(allowed: .urlQueryAllowed)

    private static func isEscape(_ bytes: ArraySlice<UInt8>) -> Bool {
        let digits = bytes.dropFirst().prefix(2)
        return digits.count == 2 && digits.allSatisfy(ASCII.isHexDigit)
    }

    private func isAllowed(_ byte: UInt8) -> Bool {
        byte < 64 ? low >> UInt64(byte) & 1 == 1 : byte < 128 && high >> UInt64(byte - 64) & 1 == 1
    }

    private func escaped(_ bytes: some Collection<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count * 3)
        for byte in bytes {
            if isAllowed(byte) {
                result.append(byte)
            } else {
                result.append(0x25)
                result.append(Self.digits[Int(byte >> 4)])
                result.append(Self.digits[Int(byte & 15)])
            }
        }
        return result
    }

    private func escape(_ string: String, beyondASCII: CharacterSet) -> String {
        var result: [UInt8] = []
        for scalar in string.unicodeScalars {
            let bytes = Array(UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
            result += beyondASCII.contains(scalar) ? bytes : escaped(bytes)
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static let digits = Array("0123456789ABCDEF".utf8)
}
