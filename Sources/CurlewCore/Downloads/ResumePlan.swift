/// Decides how a download goes on from where an earlier one stopped.
///
/// The rule behind every line: two versions of a file are never mixed. When in doubt, start over.
package struct ResumePlan: Sendable, Hashable {
    /// The first byte to ask for.
    package let offset: Int64
    /// How many bytes are there, at least `offset`.
    package let have: Int64
    package let validator: EntityValidator
    package let expectedTotal: Int64?

    package init(offset: Int64, have: Int64? = nil, validator: EntityValidator, expectedTotal: Int64?) {
        self.offset = offset
        self.have = have ?? offset
        self.validator = validator
        self.expectedTotal = expectedTotal
    }

    /// What the response to a resumed request means for the file.
    package enum Decision: Hashable, Sendable {
        /// Its body belongs at the offset. The length of the whole, by which its end is known.
        case append(total: Int64)
        /// Its body is the whole file: begin a new one.
        case startOver
        /// The file is complete already; the body is an error page.
        case alreadyComplete
        /// Its body is of no use: ask for the whole file.
        case askAgain
        /// An error or the like, which says nothing about the file. What is there may be used later.
        case unrelated
    }

    /// What a resumed request carries beside the original fields. A part of an encoded body could not be
    /// decoded, so none is accepted.
    package var headers: [HTTPHeader] {
        [
            HTTPHeader(name: "Range", value: ByteRange.from(offset).headerValue),
            HTTPHeader(name: "If-Range", value: validator.headerValue),
            HTTPHeader(name: "Accept-Encoding", value: "identity"),
        ]
    }

    package func decision(for head: ResponseHead) -> Decision {
        switch head.status {
        case 200: Self.isEncoded(head.headers) ? .askAgain : .startOver
        case 206: decisionForPart(head.headers)
        case 416: isComplete(by: head.headers) ? .alreadyComplete : .askAgain
        default: .unrelated
        }
    }

    private func decisionForPart(_ headers: HTTPHeaders) -> Decision {
        // multipart/byteranges has no Content-Range of its own, and ends here too.
        guard let content = Self.contentRange(in: headers), let range = content.range, range.lowerBound == offset,
            !Self.isEncoded(headers), !validator.isContradicted(by: headers),
            Self.agree(content.length, expectedTotal),
            // A part may end before the end that was asked for (RFC 9110, 15.3.7), and with `*` as the length of the
            // whole it does not tell whether it does (14.4). Where nothing else tells, the end of this body cannot be
            // taken for the end of the file; that of a whole body can.
            let total = content.length ?? expectedTotal, range.upperBound < total
        else { return .askAgain }
        return .append(total: total)
    }

    private func isComplete(by headers: HTTPHeaders) -> Bool {
        guard have > 0, let content = Self.contentRange(in: headers), content.range == nil, content.length == have
        else { return false }
        return Self.agree(expectedTotal, have) && !validator.isContradicted(by: headers)
    }

    // MARK: First response

    /// The validator with which a download of this response could be continued later; nil where it could not.
    package static func validator(of head: ResponseHead, method: HTTPMethod, hasBody: Bool) -> EntityValidator? {
        guard method == .get, !hasBody, head.status == 200 || head.status == 206, !isEncoded(head.headers),
            !refusesRanges(head.headers)
        else { return nil }
        return EntityValidator(head.headers)
    }

    /// Whether the bytes of the body are not the bytes of the file.
    package static func isEncoded(_ headers: HTTPHeaders) -> Bool {
        headers.values(for: "Content-Encoding").contains { value in
            value.split(separator: ",").contains { coding in
                let coding = coding.trimmingPrefix { $0 == " " || $0 == "\t" }
                return !ASCII.equalsIgnoringCase(String(coding.prefix { $0 != " " && $0 != "\t" }), "identity")
            }
        }
    }

    private static func refusesRanges(_ headers: HTTPHeaders) -> Bool {
        headers.value(for: "Accept-Ranges").map { ASCII.equalsIgnoringCase($0, "none") } ?? false
    }

    /// How many bytes the body of a part must have, where its head says so; nil for all other responses.
    package static func lengthOfPart(_ head: ResponseHead) -> Int64? {
        guard head.status == 206, !isEncoded(head.headers), let range = contentRange(in: head.headers)?.range else {
            return nil
        }
        return range.upperBound - range.lowerBound + 1
    }

    /// Two of them would be two truths.
    static func contentRange(in headers: HTTPHeaders) -> ContentRange? {
        let values = headers.values(for: "Content-Range")
        return values.count == 1 ? ContentRange(values[0]) : nil
    }

    static func agree(_ length: Int64?, _ other: Int64?) -> Bool {
        guard let length, let other else { return true }
        return length == other
    }
}
