internal import CurlewCore
internal import Foundation
internal import FoundationNetworking
internal import Synchronization

/// A response's head, which is converted to Foundation's type on demand, and only once.
///
/// The conversion costs more than the rest of a small response and joins repeated fields, so Curlew itself uses the
/// head.
final class LazyResponse: Sendable {
    let url: URL
    let head: ResponseHead
    private let foundationResponse = AtomicLazyReference<HTTPURLResponse>()

    init(url: URL, head: ResponseHead) {
        self.url = url
        self.head = head
    }

    /// Creates a response from Foundation's type, for responses that users build.
    convenience init(_ response: HTTPURLResponse) {
        let fields = response.allHeaderFields.compactMap { name, value -> HTTPHeader? in
            guard let name = name as? String, let value = value as? String else { return nil }
            return HTTPHeader(name: name, value: value)
        }
        self.init(
            url: response.url ?? URL(filePath: "/"),
            head: ResponseHead(status: response.statusCode, headers: HTTPHeaders(received: fields))
        )
        _ = foundationResponse.storeIfNil(response)
    }

    /// `nil` if Foundation cannot express the response.
    var value: HTTPURLResponse? {
        if let made = foundationResponse.load() { return made }
        // If two threads convert the head at the same time, both get the result of the first.
        return Self.lift(head, url: url).map { foundationResponse.storeIfNil($0) }
    }

    private static func lift(_ head: ResponseHead, url: URL) -> HTTPURLResponse? {
        var fields: [String: String] = [:]
        var names: [String: String] = [:]
        for field in head.headers {
            // Foundation stores one value per name. Repeated fields are joined, as RFC 9110, 5.3 allows.
            let folded = field.name.lowercased()
            if let name = names[folded] {
                // Appends in place, because a server can repeat a name thousands of times in one head.
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
