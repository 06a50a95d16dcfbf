internal import Foundation

/// A request in the canonical form that client and server sign with AWS Signature Version 4.
package struct CanonicalRequest: Equatable, Sendable {
    package let text: String
    /// The names of the signed fields, sorted and separated by semicolons.
    package let signedFields: String

    /// Creates the canonical form. `path` and `query` are as sent, `query` without the question mark. Every field in
    /// `headers` is signed.
    package init(
        method: String,
        path: String,
        query: String,
        headers: HTTPHeaders,
        payloadHash: String,
        takesPathAsItIs: Bool
    ) {
        let fields = Self.fields(headers)
        signedFields = fields.map(\.name).joined(separator: ";")
        let sent = path.isEmpty ? "/" : path
        let lines = [
            method,
            Self.encoded(takesPathAsItIs ? Self.decoded(sent.utf8) : Array(sent.utf8), keeping: UInt8(ascii: "/")),
            Self.query(query),
        ]
        text = (lines + fields.map { "\($0.name):\($0.value)" } + ["", signedFields, payloadHash])
            .joined(separator: "\n")
    }

    /// Returns the fields by lower-case name, sorted; the values of one name are joined in order.
    private static func fields(_ headers: HTTPHeaders) -> [(name: String, value: String)] {
        var values: [String: [String]] = [:]
        for field in headers { values[field.name.lowercased(), default: []].append(trimmed(field.value)) }
        return values.map { ($0.key, $0.value.joined(separator: ",")) }.sorted { $0.0 < $1.0 }
    }

    /// Trims blanks at both ends and replaces each run of blanks within by one space.
    private static func trimmed(_ value: String) -> String {
        value.utf8.split { ASCII.isBlank($0) || $0 == 0x0A || $0 == 0x0D }
            .map { String(decoding: $0, as: UTF8.self) }.joined(separator: " ")
    }

    /// Sorts the pairs by name, then by value, comparing their encoded forms. Every pair gets an equals sign. Services
    /// read a plus as a space; a literal plus must be sent as `%2B`.
    private static func query(_ query: String) -> String {
        let pairs = query.replacing("+", with: "%20").utf8.split(separator: UInt8(ascii: "&")).map { pair in
            let name = pair.prefix { $0 != UInt8(ascii: "=") }
            return (encoded(decoded(name)), encoded(decoded(pair.dropFirst(name.count + 1))))
        }
        return pairs.sorted { $0 < $1 }.map { "\($0.0)=\($0.1)" }.joined(separator: "&")
    }

    private static func decoded(_ text: some Collection<UInt8>) -> [UInt8] {
        let bytes = Array(text)
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count, let high = ASCII.hexValue(bytes[index + 1]),
                let low = ASCII.hexValue(bytes[index + 2])
            {
                result.append(high << 4 | low)
                index += 3
            } else {
                result.append(bytes[index])
                index += 1
            }
        }
        return result
    }

    /// Percent-encodes all bytes but the unreserved characters of RFC 3986.
    private static func encoded(_ bytes: [UInt8], keeping kept: UInt8? = nil) -> String {
        ASCII.percentEncoded(bytes) {
            $0 == kept || ASCII.isAlpha($0) || ASCII.isDigit($0) || "-._~".utf8.contains($0)
        }
    }
}

/// A URL in the form in which it is sent, with the path and query to sign.
package struct SignedURL: Equatable, Sendable {
    package let text: String
    package let path: String
    /// The query without the question mark; empty if there is none.
    package let query: String

    /// Removes the fragment and, unless they are to be kept, dot segments. For all services but S3, it also collapses
    /// repeated slashes in the path: those services sign a path without dot segments and repeated slashes. For S3 the
    /// whole path is part of a key.
    package init(_ url: String, takesPathAsItIs: Bool, keepsDotSegments: Bool = false) {
        let whole = String(url.prefix { $0 != "#" })
        let plain = keepsDotSegments ? whole : DotSegments.removed(fromText: whole)
        let text = takesPathAsItIs ? plain : Self.withoutRepeatedSlashes(plain)
        // Dot segments that are kept for sending are still removed for signing.
        let signed = takesPathAsItIs ? text : DotSegments.removed(fromText: text)
        let rest = signed.range(of: "://").map { signed[$0.upperBound...] } ?? signed[...]
        let target = rest.drop { $0 != "/" && $0 != "?" }
        let path = target.prefix { $0 != "?" }
        self.text = text
        self.path = String(path)
        query = String(target.dropFirst(path.count + 1))
    }

    private static func withoutRepeatedSlashes(_ text: String) -> String {
        let end = text.firstIndex(of: "?") ?? text.endIndex
        guard let start = text[..<end].range(of: "://")?.upperBound, let path = text[start..<end].firstIndex(of: "/")
        else { return text }
        var collapsed = ""
        for character in text[path..<end] where character != "/" || collapsed.last != "/" {
            collapsed.append(character)
        }
        return text[..<path] + collapsed + text[end...]
    }
}
