package import Foundation

/// The response that a browser brings back from the authorization endpoint (RFC 6749, 4.1.2).
package enum OAuth2Redirect: Equatable {
    case code(String)
    case refused(OAuth2Error)
    /// The response belongs to another request, or is of another server, as this parameter shows: it may be forged
    /// (RFC 6749, 10.12; RFC 9207).
    case foreign(parameter: String)
    /// There is neither a code nor an error, or one of `state`, `iss`, `error` and `code` occurs twice or cannot be
    /// decoded.
    case malformed

    /// Reads the URL. With an `issuer`, the server must name itself.
    package init(_ url: URL, state: String, issuer: String?) {
        let query = Query(url)
        // If one of these occurred twice, two readers of the URL could see different responses (RFC 6749, 3.1).
        guard ["state", "iss", "error", "code"].allSatisfy(query.isClear) else {
            self = .malformed
            return
        }
        guard query.has(state, "state") else {
            self = .foreign(parameter: "state")
            return
        }
        if let issuer, !query.has(issuer, "iss") {
            self = .foreign(parameter: "iss")
            return
        }
        if let code = query["error"] {
            self = .refused(
                OAuth2Error(
                    OAuth2Error.Code(rawValue: code), details: query["error_description"],
                    uri: query["error_uri"].flatMap { URL(string: $0) }))
        } else if let code = query["code"] {
            self = .code(code)
        } else {
            self = .malformed
        }
    }
}

/// The parameters of a URL's query, as a form writes them (RFC 6749, appendix B).
private struct Query {
    /// A value is `nil` if it cannot be decoded.
    private let items: [(name: String, value: String?)]

    init(_ url: URL) {
        let encoded = URLComponents(url: url, resolvingAgainstBaseURL: true)?.percentEncodedQueryItems ?? []
        items = encoded.compactMap { item in
            Self.decoded(item.name).map { ($0, Self.decoded(item.value ?? "")) }
        }
    }

    /// The value of a parameter; `nil` if it is empty, occurs twice or cannot be decoded.
    subscript(_ name: String) -> String? {
        let found = items.filter { $0.name == name }
        guard found.count == 1, let value = found[0].value, !value.isEmpty else { return nil }
        return value
    }

    /// Whether the parameter does not occur, or occurs once with a value that can be decoded.
    func isClear(_ name: String) -> Bool {
        let found = items.filter { $0.name == name }
        return found.isEmpty || found.count == 1 && found[0].value != nil
    }

    /// Whether the parameter has this value. Compares bytes: strings that are canonically equivalent are equal.
    func has(_ value: String, _ name: String) -> Bool { self[name]?.utf8.elementsEqual(value.utf8) == true }

    private static func decoded(_ text: String) -> String? { text.replacing("+", with: " ").removingPercentEncoding }
}
