package import Foundation

/// The response that a browser brings back from the authorization endpoint (RFC 6749, 4.1.2).
package enum OAuth2Redirect: Equatable {
    case code(String)
    case refused(OAuth2Error)
    /// The response belongs to another request, or is of another server, as this parameter shows: it may be forged
    /// (RFC 6749, 10.12; RFC 9207).
    case foreign(parameter: String)
    case malformed

    /// Reads the URL. With an `issuer`, the server must name itself.
    package init(_ url: URL, state: String, issuer: String?) {
        let items = URLComponents(url: url, resolvingAgainstBaseURL: true)?.percentEncodedQueryItems ?? []
        func value(_ name: String) -> String? {
            let found = items.filter { $0.name == name }
            // RFC 6749, 3.1: no parameter occurs twice.
            guard found.count == 1, let text = found[0].value, !text.isEmpty else { return nil }
            return text.replacing("+", with: " ").removingPercentEncoding
        }
        guard value("state") == state else {
            self = .foreign(parameter: "state")
            return
        }
        guard issuer == nil || value("iss") == issuer else {
            self = .foreign(parameter: "iss")
            return
        }
        if let code = value("error") {
            self = .refused(
                OAuth2Error(
                    OAuth2Error.Code(rawValue: code), details: value("error_description"),
                    uri: value("error_uri").flatMap { URL(string: $0) }))
        } else if let code = value("code") {
            self = .code(code)
        } else {
            self = .malformed
        }
    }
}
