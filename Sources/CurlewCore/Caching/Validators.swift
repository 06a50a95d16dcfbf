/// The validators of a stored response: entity tag and modification date (RFC 9111, 4.3.1).
package struct Validators: Sendable, Hashable {
    /// The tag with its quotes, prefixed by `W/` if it is weak. Verbatim, even if the server has omitted the quotes.
    package let entityTag: String?
    package let lastModified: String?

    package init(_ headers: HTTPHeaders) {
        entityTag = headers.value(for: "ETag").flatMap { $0.isEmpty ? nil : $0 }
        lastModified = headers.value(for: "Last-Modified").flatMap { $0.isEmpty ? nil : $0 }
    }

    package var areUsable: Bool { entityTag != nil || lastModified != nil }

    /// The conditional fields for a validation. Both are sent: the tag has precedence, the date serves servers that do
    /// not support tags.
    package var conditions: [HTTPHeader] {
        var fields: [HTTPHeader] = []
        if let entityTag { fields.append(HTTPHeader(name: "If-None-Match", value: entityTag)) }
        if let lastModified { fields.append(HTTPHeader(name: "If-Modified-Since", value: lastModified)) }
        return fields
    }

    /// Whether each validator of a response to `HEAD` equals the stored one. A response without validators agrees.
    package func agree(with head: Validators) -> Bool {
        if let tag = head.entityTag {
            guard let entityTag, Self.areWeaklyEqual(entityTag, tag) else { return false }
        }
        return head.lastModified == nil || head.lastModified == lastModified
    }

    /// Weak comparison (RFC 9110, 8.8.3.2).
    static func areWeaklyEqual(_ one: String, _ other: String) -> Bool { opaque(one) == opaque(other) }

    private static func opaque(_ tag: String) -> Substring { tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...] }

    /// Whether `If-None-Match` names the tag.
    static func isListed(_ tag: String, in list: String) -> Bool {
        if ASCII.trimmingBlanks(list) == "*" { return true }
        var scanner = ByteScanner(list)
        while !scanner.isAtEnd {
            scanner.skip { ASCII.isBlank($0) || $0 == UInt8(ascii: ",") }
            let weak = scanner.skip("W/")
            guard scanner.peek == UInt8(ascii: "\"") else {
                // A tag without quotes is read verbatim up to the comma.
                let bare = ASCII.trimmingBlanks(scanner.take { $0 != UInt8(ascii: ",") })
                let text = String(decoding: bare, as: UTF8.self)
                if !text.isEmpty, areWeaklyEqual((weak ? "W/" : "") + text, tag) { return true }
                continue
            }
            _ = scanner.next()
            // Tags have no escapes: a backslash is an ordinary byte.
            let opaque = scanner.take { $0 != UInt8(ascii: "\"") }
            _ = scanner.next()
            if areWeaklyEqual("\"" + String(decoding: opaque, as: UTF8.self) + "\"", tag) { return true }
        }
        return false
    }
}
