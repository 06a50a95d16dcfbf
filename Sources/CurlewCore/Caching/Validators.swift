/// What a stored response can be validated by: its entity tag, or its date (RFC 9111, 4.3.1).
package struct Validators: Sendable, Hashable {
    /// With its quotes, `W/` in front of a weak one. As the server wrote it, also where it forgot the quotes.
    package let entityTag: String?
    package let lastModified: String?

    package init(_ headers: HTTPHeaders) {
        entityTag = headers.value(for: "ETag").flatMap { $0.isEmpty ? nil : $0 }
        lastModified = headers.value(for: "Last-Modified").flatMap { $0.isEmpty ? nil : $0 }
    }

    package var areUsable: Bool { entityTag != nil || lastModified != nil }

    /// The fields with which to ask whether it is still right. The tag goes before, and the date along for servers that do
    /// not know tags.
    package var conditions: [HTTPHeader] {
        var fields: [HTTPHeader] = []
        if let entityTag { fields.append(HTTPHeader(name: "If-None-Match", value: entityTag)) }
        if let lastModified { fields.append(HTTPHeader(name: "If-Modified-Since", value: lastModified)) }
        return fields
    }

    /// Whether each validator of a response to `HEAD` is stored and the same. Where it has none, nothing disagrees.
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
                // No quotes: it is taken as it stands up to the comma.
                let bare = ASCII.trimmingBlanks(scanner.take { $0 != UInt8(ascii: ",") })
                let text = String(decoding: bare, as: UTF8.self)
                if !text.isEmpty, areWeaklyEqual((weak ? "W/" : "") + text, tag) { return true }
                continue
            }
            _ = scanner.next()
            // A tag has no escapes: a backslash is a byte like others.
            let opaque = scanner.take { $0 != UInt8(ascii: "\"") }
            _ = scanner.next()
            if areWeaklyEqual("\"" + String(decoding: opaque, as: UTF8.self) + "\"", tag) { return true }
        }
        return false
    }
}
