/// Decides how a download continues after an interruption.
///
/// Two versions of a file must never be mixed. In doubt, the download starts over.
package struct ResumePlan: Sendable, Hashable {
    /// The offset of the first byte to request.
    package let offset: Int64
    /// The number of bytes already received, at least `offset`.
    package let received: Int64
    package let validator: EntityValidator
    package let expectedTotal: Int64?

    package init(offset: Int64, received: Int64? = nil, validator: EntityValidator, expectedTotal: Int64?) {
        self.offset = offset
        self.received = received ?? offset
        self.validator = validator
        self.expectedTotal = expectedTotal
    }

    /// The meaning of the response to a resumed request.
    package enum Decision: Hashable, Sendable {
        /// The body belongs at the offset. `total` is the length of the whole file, which tells when it is complete.
        case append(total: Int64)
        /// The body is the whole file: start a new file with it.
        case wholeFile
        /// The file was complete already; the body is an error page.
        case alreadyComplete
        /// The body is useless: request the whole file.
        case startOver
        /// An error or another response that says nothing about the file. The received bytes may be used later.
        case errorPage
    }

    /// The fields that a resumed request adds to the original ones. It accepts no content coding, because a part of an
    /// encoded body cannot be decoded.
    package var headers: [HTTPHeader] {
        [
            HTTPHeader(name: "Range", value: ByteRange.from(offset).headerValue),
            HTTPHeader(name: "If-Range", value: validator.headerValue),
            HTTPHeader(name: "Accept-Encoding", value: "identity"),
        ]
    }

    package func decision(for head: ResponseHead) -> Decision {
        switch head.status {
        case 200: head.headers.haveContentCoding ? .startOver : .wholeFile
        case 206: decisionForPart(head.headers)
        case 416: isComplete(by: head.headers) ? .alreadyComplete : .startOver
        default: .errorPage
        }
    }

    private func decisionForPart(_ headers: HTTPHeaders) -> Decision {
        // A `multipart/byteranges` response has no `Content-Range` field and is rejected here, too.
        guard let content = headers.contentRange, let range = content.range, range.lowerBound == offset,
            !headers.haveContentCoding, !validator.isContradicted(by: headers),
            Self.agree(content.length, expectedTotal),
            // A part may end before the end that was requested (RFC 9110, 15.3.7), and with `*` as the length of the
            // whole it does not tell whether it does (14.4). Without another source for the length, the end of a part
            // must not be taken for the end of the file. Starting over is safe, because the end of a whole body is the
            // end of the file.
            let total = content.length ?? expectedTotal, range.upperBound < total
        else { return .startOver }
        return .append(total: total)
    }

    private func isComplete(by headers: HTTPHeaders) -> Bool {
        guard received > 0, let content = headers.contentRange, content.range == nil, content.length == received
        else { return false }
        return Self.agree(expectedTotal, received) && !validator.isContradicted(by: headers)
    }

    // MARK: First response

    /// Returns the validator with which a download of this response could be continued later; `nil` if it could not.
    package static func validator(of head: ResponseHead, method: HTTPMethod, hasBody: Bool) -> EntityValidator? {
        guard method == .get, !hasBody, head.status == 200 || head.status == 206, !head.headers.haveContentCoding,
            !refusesRanges(head.headers)
        else { return nil }
        return EntityValidator(head.headers)
    }

    private static func refusesRanges(_ headers: HTTPHeaders) -> Bool {
        headers.value(for: "Accept-Ranges").map { ASCII.equalsIgnoringCase($0, "none") } ?? false
    }

    private static func agree(_ length: Int64?, _ other: Int64?) -> Bool {
        guard let length, let other else { return true }
        return length == other
    }
}

extension HTTPHeaders {
    /// The content range. `nil` if the field is missing, malformed or repeated: several ranges could contradict each
    /// other.
    var contentRange: ContentRange? {
        let values = values(for: "Content-Range")
        return values.count == 1 ? ContentRange(values[0]) : nil
    }

    /// Whether the body has a content coding, so that its bytes are not those of the file.
    var haveContentCoding: Bool {
        values(for: "Content-Encoding").contains { value in
            value.split(separator: ",").contains { coding in
                let coding = coding.trimmingPrefix { $0 == " " || $0 == "\t" }
                return !ASCII.equalsIgnoringCase(String(coding.prefix { $0 != " " && $0 != "\t" }), "identity")
            }
        }
    }
}

extension ResponseHead {
    /// The length of the body that the head of a 206 announces; `nil` for all other responses.
    package var lengthOfPart: Int64? {
        guard status == 206, !headers.haveContentCoding, let range = headers.contentRange?.range else { return nil }
        return range.upperBound - range.lowerBound + 1
    }
}

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
        if let content = headers.contentRange?.located {
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
