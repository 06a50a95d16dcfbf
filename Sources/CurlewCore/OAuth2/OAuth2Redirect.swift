package import Foundation

/// The answer that a browser brings back from the authorization endpoint (RFC 6749, 4.1.2).
package enum OAuth2Redirect: Equatable {
    case code(String)
    case refused(OAuth2Error)
    /// The answer belongs to another request: it may be forged (RFC 6749, 10.12).
    case foreign
    case malformed

    package init(_ url: URL, state: String) {
        let items = URLComponents(url: url, resolvingAgainstBaseURL: true)?.percentEncodedQueryItems ?? []
        func value(_ name: String) -> String? {
            let found = items.filter { $0.name == name }
            // RFC 6749, 3.1: no parameter occurs twice.
            guard found.count == 1, let text = found[0].value, !text.isEmpty else { return nil }
            return text.replacing("+", with: " ").removingPercentEncoding
        }
        guard value("state") == state else {
            self = .foreign
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
