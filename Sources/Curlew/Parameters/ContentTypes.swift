internal import Foundation
package import FoundationNetworking

/// The media types that encoders announce.
enum ContentType {
    static let formURLEncoded = "application/x-www-form-urlencoded; charset=utf-8"
    static let json = "application/json"
}

extension URLRequest {
    /// Announces the body's type unless the caller already has.
    package mutating func setContentTypeIfAbsent(_ type: String) {
        if value(forHTTPHeaderField: "Content-Type") == nil { setValue(type, forHTTPHeaderField: "Content-Type") }
    }
}
