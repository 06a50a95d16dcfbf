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
