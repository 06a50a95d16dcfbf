internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

/// A response's head, lifted to Foundation's type on demand, and once.
///
/// An `HTTPURLResponse` costs more than everything else that a small response needs, and it loses
/// repeated fields: inside Curlew the head is the truth.
// SAFETY: `lifted` is only touched under `fence`; the rest is constant.
final class LazyResponse: @unchecked Sendable {
    let url: URL
    let head: ResponseHead
    private var lifted: HTTPURLResponse?
    // One lock for all: lifting is rare, and a lock in every response would cost each of them.
    private static let fence = Lock(false)

    init(url: URL, head: ResponseHead) {
        self.url = url
        self.head = head
    }

    /// A response that was made outside, for responses that are built by hand.
    convenience init(_ response: HTTPURLResponse) {
        let fields = response.allHeaderFields.compactMap { name, value -> HTTPHeader? in
            guard let name = name as? String, let value = value as? String else { return nil }
            return HTTPHeader(name: name, value: value)
        }
        self.init(
            url: response.url ?? URL(filePath: "/"),
            head: ResponseHead(status: response.statusCode, headers: HTTPHeaders(received: fields))
        )
        lifted = response
    }

    /// nil only where Foundation cannot express the response.
    var value: HTTPURLResponse? {
        if let lifted = Self.fence.withLock({ _ in lifted }) { return lifted }
        let made = Self.lift(head, url: url)
        return Self.fence.withLock { _ in
            if lifted == nil { lifted = made }
            return lifted
        }
    }

    private static func lift(_ head: ResponseHead, url: URL) -> HTTPURLResponse? {
        var fields: [String: String] = [:]
        var names: [String: String] = [:]
        for field in head.headers {
            // Foundation keeps one value a name: repeated ones are joined, as RFC 9110 5.3 allows.
            let folded = field.name.lowercased()
            let name = names[folded] ?? field.name
            names[folded] = name
            fields[name] = fields[name].map { $0 + ", " + field.value } ?? field.value
        }
        return HTTPURLResponse(
            url: url,
            statusCode: head.status,
            httpVersion: head.version.rawValue,
            headerFields: fields
        )
    }
}
