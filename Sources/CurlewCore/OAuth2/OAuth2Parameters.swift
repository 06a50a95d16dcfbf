package import Foundation

/// The parameters of a request to an authorization server, as a form or as a query. Names keep their order.
package struct OAuth2Parameters: Sendable {
    package private(set) var items: [(name: String, value: String)] = []

    package init(_ items: KeyValuePairs<String, String> = [:]) {
        for (name, value) in items { self[name] = value }
    }

    /// The value of a parameter. RFC 6749, 3.1 permits each parameter once. An empty value counts as none.
    package subscript(_ name: String) -> String? {
        get { items.first { $0.name == name }?.value }
        set {
            items.removeAll { $0.name == name }
            if let newValue, !newValue.isEmpty { items.append((name, newValue)) }
        }
    }

    /// Adds the user's parameters, in the order of their names. Parameters that are set already keep their values.
    package mutating func add(_ others: [String: String]) {
        for (name, value) in others.sorted(by: { $0.key < $1.key }) where self[name] == nil { self[name] = value }
    }

    /// `application/x-www-form-urlencoded` (RFC 6749, appendix B).
    package var text: String {
        items.map { "\(Self.encoded($0.name))=\(Self.encoded($0.value))" }.joined(separator: "&")
    }

    package static func encoded(_ text: String) -> String {
        ASCII.percentEncoded(text.utf8) { ASCII.isAlpha($0) || ASCII.isDigit($0) || " -._*".utf8.contains($0) }
            .replacing(" ", with: "+")
    }

    /// Adds the parameters to the query of an endpoint, which is kept (RFC 6749, 3.1). `nil` if there is no such URL.
    package func appended(to endpoint: URL) -> URL? {
        guard var parts = URLComponents(url: endpoint, resolvingAgainstBaseURL: true) else { return nil }
        let query = [parts.percentEncodedQuery ?? "", text].filter { !$0.isEmpty }.joined(separator: "&")
        parts.percentEncodedQuery = query.isEmpty ? nil : query
        // RFC 6749, 3.1: the endpoint has no fragment.
        parts.fragment = nil
        return parts.url
    }
}
