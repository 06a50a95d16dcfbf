package import Foundation

/// The form in which a stored response answers a request.
package enum AnswerForm: Sendable, Hashable {
    /// The stored head and the whole body.
    case whole
    /// The head without a body, for `HEAD`.
    case head
    /// A 304: the caller's copy is still valid.
    case notModified
    /// A 206 with these bytes of the body.
    case part(Range<Int64>)

    /// `nil` if the request asks for a range that the stored response cannot supply, so that only the server can
    /// answer.
    package init?(of request: CacheRequest, from response: StoredResponse, bodySize: Int64) {
        if request.method == .head {
            self = .head
        } else if request.hasCondition {
            self = Self.isUnchanged(for: request.headers, response) ? .notModified : .whole
        } else if request.hasRange, let value = request.headers.value(for: "Range") {
            guard response.head.status == 200, !response.head.headers.contains(name: "Content-Encoding"),
                Self.allowsPart(request.headers, response.head.headers),
                let range = ByteRange(value)?.resolved(in: bodySize)
            else { return nil }
            self = .part(range)
        } else {
            self = .whole
        }
    }

    /// Whether the caller's own condition (RFC 9110, 13.1.2 and 13.1.3) leads to a 304. `If-None-Match` has precedence
    /// over `If-Modified-Since`.
    private static func isUnchanged(for request: HTTPHeaders, _ response: StoredResponse) -> Bool {
        guard response.head.status == 200 else { return false }
        let stored = Validators(response.head.headers)
        if let list = request.combinedValue(for: "If-None-Match") {
            return stored.entityTag.map { Validators.isListed($0, in: list) } ?? false
        }
        guard let since = request.value(for: "If-Modified-Since") else { return false }
        let modified = stored.lastModified ?? response.head.headers.value(for: "Date")
        guard let modified else { return false }
        if since == modified { return true }
        let now = response.responseTime
        guard let since = HTTPDate.date(from: since, now: now), let date = HTTPDate.date(from: modified, now: now)
        else {
            return false
        }
        return date <= since
    }

    /// Whether `If-Range` allows a part of the stored version. Only a strong validator identifies a version.
    private static func allowsPart(_ request: HTTPHeaders, _ stored: HTTPHeaders) -> Bool {
        guard let condition = request.value(for: "If-Range") else { return true }
        return EntityValidator(stored)?.headerValue == condition
    }

    /// Returns the stored head in this form, with the response's current age.
    package func head(of response: StoredResponse, age: TimeInterval, bodySize: Int64) -> ResponseHead {
        var head = response.head
        head.headers.add(name: "Age", value: String(Int64(min(max(0, age), Double(DeltaSeconds.maximum)))))
        switch self {
        case .whole, .head: break
        case .notModified:
            head.status = 304
            head.reason = "Not Modified"
            // A 304 has no body and must not describe one (RFC 9110, 15.4.5).
            for name in ["Content-Length", "Content-Encoding", "Content-Type", "Content-Range"] {
                head.headers.remove(name: name)
            }
        case .part(let range):
            head.status = 206
            head.reason = "Partial Content"
            head.headers.remove(name: "Content-Length")
            head.headers.append(name: "Content-Length", value: String(range.count))
            let value = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(bodySize)"
            head.headers.remove(name: "Content-Range")
            head.headers.append(name: "Content-Range", value: value)
        }
        return head
    }

    /// The bytes of the body to send; `nil` for a response without a body.
    package func bytes(ofBody size: Int64) -> Range<Int64>? {
        switch self {
        case .whole: size > 0 ? 0..<size : nil
        case .head, .notModified: nil
        case .part(let range): range
        }
    }
}
