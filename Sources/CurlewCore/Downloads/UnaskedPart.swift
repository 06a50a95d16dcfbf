/// How much of the resource an unrequested 206 brings (RFC 9110, 15.3.7).
package enum UnaskedPart: Hashable, Sendable {
    /// All of it, from the first byte to the last.
    case whole
    /// Something else, or the server does not know how long the whole is.
    case part
    /// It does not say.
    case unsaid

    /// Reads what the head says about its body.
    package init(_ headers: HTTPHeaders) {
        if let content = ResumePlan.contentRange(in: headers)?.located {
            self = content.range == 0...(content.length - 1) ? .whole : .part
        } else if headers.contains(name: "Content-Range") || Self.hasManyParts(headers) {
            self = .part
        } else {
            self = .unsaid
        }
    }

    private static func hasManyParts(_ headers: HTTPHeaders) -> Bool {
        guard let type = headers.value(for: "Content-Type").flatMap({ MediaType($0) }) else { return false }
        return type.type == "multipart" && type.subtype == "byteranges"
    }
}
