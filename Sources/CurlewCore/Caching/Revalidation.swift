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

    /// Whether a response to `HEAD` speaks of the stored representation (RFC 9111, 4.3.5): all that it says of its version
    /// and its length is true of what is stored. If it is not, or says nothing, what is stored is out of date.
    ///
    /// `bodySize`: that of the stored body, for a response that came without its length.
    package static func isSame(_ stored: StoredResponse, as head: ResponseHead, bodySize: Int64? = nil) -> Bool {
        let validators = Validators(head.headers)
        guard Validators(stored.head.headers).agree(with: validators) else { return false }
        guard let text = head.headers.value(for: "Content-Length") else { return validators.areUsable }
        guard let length = Int64(text) else { return false }
        if let old = stored.head.headers.value(for: "Content-Length") { return Int64(old) == length }
        // A body that was coded is stored in another size than it was sent.
        let isCoded = [stored.head, head].contains { $0.headers.contains(name: "Content-Encoding") }
        return !isCoded && bodySize == length
    }

    /// Whether the server has failed in a way in which `stale-if-error` allows the stored response (RFC 5861, 4).
    package static func isFailure(_ status: Int) -> Bool {
        switch status {
        case 500, 502, 503, 504: true
        default: false
        }
    }
}
