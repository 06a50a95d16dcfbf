package import Foundation

/// Updates a stored response with newer information from the server.
package enum Revalidation {
    /// The fields that an update keeps as stored: they describe the stored bytes, or servers send wrong values with a
    /// 304 and browsers ignore those, too.
    private static let kept: Set<String> = [
        "content-encoding", "content-length", "content-md5", "content-range", "content-type",
        "x-content-type-options", "x-frame-options", "x-xss-protection",
    ]

    private static func isKept(_ name: String) -> Bool { kept.contains(name) || name.hasPrefix("x-webkit-") }

    /// Returns the stored response after a 304 or a response to `HEAD` (RFC 9111, 3.2): new fields replace those with
    /// equal names, the others stay.
    package static func updated(
        _ stored: StoredResponse,
        with head: ResponseHead,
        requestTime: Date,
        responseTime: Date,
        mode: CacheMode
    ) -> StoredResponse {
        let news = Storability.stored(head, mode: mode).headers.filter { !isKept(ASCII.lowercased($0.name)) }
        let names = Set(news.map { ASCII.lowercased($0.name) })
        // `Age` belongs to the old response: a 304 without `Age` is the origin's.
        let rest = stored.head.headers.filter {
            let name = ASCII.lowercased($0.name)
            return !names.contains(name) && name != "age"
        }
        var updated = stored
        updated.head.headers = HTTPHeaders(received: rest + news)
        updated.requestTime = requestTime
        updated.responseTime = responseTime
        return updated
    }

    /// Whether a response to `HEAD` describes the stored representation (RFC 9111, 4.3.5): its validators and length
    /// must match. If it contradicts the stored response, or has neither a validator nor a length, the stored response
    /// is outdated.
    ///
    /// `bodySize` is the size of the stored body, used if the stored head has no length.
    package static func isSame(_ stored: StoredResponse, as head: ResponseHead, bodySize: Int64? = nil) -> Bool {
        let validators = Validators(head.headers)
        guard Validators(stored.head.headers).agree(with: validators) else { return false }
        guard let text = head.headers.value(for: "Content-Length") else { return validators.areUsable }
        guard let length = Int64(text) else { return false }
        if let old = stored.head.headers.value(for: "Content-Length") { return Int64(old) == length }
        // The stored size of a body with a content coding differs from the size that was sent.
        let isCoded = [stored.head, head].contains { $0.headers.contains(name: "Content-Encoding") }
        return !isCoded && bodySize == length
    }

    /// Whether a status is a failure for which `stale-if-error` allows the stored response (RFC 5861, 4).
    package static func isFailure(_ status: Int) -> Bool {
        switch status {
        case 500, 502, 503, 504: true
        default: false
        }
    }
}

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
    private static func areWeaklyEqual(_ one: String, _ other: String) -> Bool { opaque(one) == opaque(other) }

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
