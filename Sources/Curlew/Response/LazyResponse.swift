internal import CurlewCore
internal import Foundation
internal import FoundationNetworking
internal import Synchronization

/// A response's head, lifted to Foundation's type on demand, and once.
///
/// An `HTTPURLResponse` costs more than everything else that a small response needs, and it loses
/// repeated fields: inside Curlew the head is the truth.
final class LazyResponse: Sendable {
    let url: URL
    let head: ResponseHead
    private let lifted = AtomicLazyReference<HTTPURLResponse>()

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
        _ = lifted.storeIfNil(response)
    }

    /// nil only where Foundation cannot express the response.
    var value: HTTPURLResponse? {
        if let lifted = lifted.load() { return lifted }
        // Of two threads that make one at the same time both get the first.
        return Self.lift(head, url: url).map { lifted.storeIfNil($0) }
    }

    private static func lift(_ head: ResponseHead, url: URL) -> HTTPURLResponse? {
        var fields: [String: String] = [:]
        var names: [String: String] = [:]
        for field in head.headers {
            // Foundation keeps one value a name: repeated ones are joined, as RFC 9110 5.3 allows.
            let folded = field.name.lowercased()
            if let name = names[folded] {
                // In place: a name may come as often as a head has room for it.
                fields[name]?.append(", " + field.value)
            } else {
                names[folded] = field.name
                fields[field.name] = field.value
            }
        }
        return HTTPURLResponse(
            url: url,
            statusCode: head.status,
            httpVersion: head.version.rawValue,
            headerFields: fields
        )
    }
}
