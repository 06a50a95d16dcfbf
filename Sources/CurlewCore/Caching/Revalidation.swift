package import Foundation

/// What becomes of a stored response when the server has said something newer about it.
package enum Revalidation {
    /// Stays as it was stored: it describes the stored bytes, or is what browsers keep because servers send it wrongly with
    /// a 304.
    private static let kept: Set<String> = [
        "content-encoding", "content-length", "content-md5", "content-range", "content-type",
        "x-content-type-options", "x-frame-options", "x-xss-protection",
    ]

    private static func isKept(_ name: String) -> Bool { kept.contains(name) || name.hasPrefix("x-webkit-") }

    /// The stored response after a 304, or a response to `HEAD` (RFC 9111, 3.2): the new fields replace those of the same
    /// names, the others stay.
    package static func updated(
        _ stored: StoredResponse,
        with head: ResponseHead,
        requestTime: Date,
        responseTime: Date,
        mode: CacheMode
    ) -> StoredResponse {
        let news = Storability.stored(head, mode: mode).headers.filter { !isKept(ASCII.lowercased($0.name)) }
        let names = Set(news.map { ASCII.lowercased($0.name) })
        // `Age` is of the old response: a 304 without it comes from the origin.
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

    /// Whether a response to `HEAD` speaks of the stored representation (RFC 9111, 4.3.5). If it does not, what is stored
    /// is out of date.
    package static func isSame(_ stored: StoredResponse, as head: ResponseHead) -> Bool {
        guard Validators(stored.head.headers).agree(with: Validators(head.headers)) else { return false }
        let (old, new) = (stored.head.headers.value(for: "Content-Length"), head.headers.value(for: "Content-Length"))
        guard let old, let new else { return true }
        return old == new
    }

    /// Whether the server has failed in a way in which `stale-if-error` allows the stored response (RFC 5861, 4).
    package static func isFailure(_ status: Int) -> Bool {
        switch status {
        case 500, 502, 503, 504: true
        default: false
        }
    }
}
