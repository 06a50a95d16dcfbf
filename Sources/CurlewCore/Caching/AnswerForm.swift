package import Foundation

/// In which form a stored response answers a request.
package enum AnswerForm: Sendable, Hashable {
    /// As it is stored.
    case whole
    /// Its head alone, for `HEAD`.
    case head
    /// 304: what the caller has is still right.
    case notModified
    /// 206: these bytes of the body.
    case part(Range<Int64>)

    /// nil where the stored response cannot answer the request, and the server has to.
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

    /// The caller's own condition (RFC 9110, 13.1.2 and 13.1.3): the tag goes before the date.
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

    /// `If-Range`: the part is wanted of that version alone, which only a strong validator tells.
    private static func allowsPart(_ request: HTTPHeaders, _ stored: HTTPHeaders) -> Bool {
        guard let condition = request.value(for: "If-Range") else { return true }
        return EntityValidator(stored)?.headerValue == condition
    }

    /// What is served: the stored head in this form, with the age that it has by now.
    package func head(of response: StoredResponse, age: TimeInterval, bodySize: Int64) -> ResponseHead {
        var head = response.head
        head.headers.update(name: "Age", value: String(Int64(min(max(0, age), Double(DeltaSeconds.maximum)))))
        switch self {
        case .whole, .head: break
        case .notModified:
            head.status = 304
            head.reason = "Not Modified"
            // It has no body, and says nothing of one (RFC 9110, 15.4.5).
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

    /// Which bytes of the body follow; nil for none.
    package func bytes(ofBody size: Int64) -> Range<Int64>? {
        switch self {
        case .whole: size > 0 ? 0..<size : nil
        case .head, .notModified: nil
        case .part(let range): range
        }
    }
}

extension ByteRange {
    /// One range in bytes (RFC 9110, 14.1.2); nil for several, other units and what is no range.
    package init?(_ value: String) {
        var scanner = ByteScanner(value)
        scanner.skip(while: ASCII.isBlank)
        let unit = String(decoding: scanner.take(while: ASCII.isTokenByte), as: UTF8.self)
        guard ASCII.equalsIgnoringCase(unit, "bytes"), scanner.skip("=") else { return nil }
        scanner.skip(while: ASCII.isBlank)
        if scanner.skip(UInt8(ascii: "-")) {
            guard let count = scanner.number() else { return nil }
            self = .last(count)
        } else {
            guard let first = scanner.number(), scanner.skip(UInt8(ascii: "-")) else { return nil }
            if let next = scanner.peek, ASCII.isDigit(next) {
                guard let last = scanner.number(), first <= last, last < .max else { return nil }
                self = .bytes(first...last)
            } else {
                self = .from(first)
            }
        }
        scanner.skip(while: ASCII.isBlank)
        guard scanner.isAtEnd else { return nil }
    }

    /// Which bytes of a whole of that size it means; nil where there are none.
    package func resolved(in size: Int64) -> Range<Int64>? {
        switch self {
        case .from(let first): first < size ? first..<size : nil
        case .bytes(let range): range.lowerBound < size ? range.lowerBound..<min(range.upperBound + 1, size) : nil
        case .last(let count): count > 0 && size > 0 ? max(0, size - count)..<size : nil
        }
    }
}
