/// The portion of the resource that an unrequested 206 contains (RFC 9110, 15.3.7).
package enum UnaskedPart: Hashable, Sendable {
    /// The whole resource, from the first byte to the last.
    case whole
    /// A part of the resource, or an unknown portion because the length of the whole is not stated.
    case part
    /// The head does not state a range.
    case unsaid

    /// Reads the portion from the fields of a response.
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
