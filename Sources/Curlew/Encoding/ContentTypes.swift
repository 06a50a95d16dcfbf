internal import Foundation
package import FoundationNetworking

/// The media types that encoders set as `Content-Type`.
enum ContentType {
    static let formURLEncoded = "application/x-www-form-urlencoded; charset=utf-8"
    static let json = "application/json"
}

extension URLRequest {
    /// Sets the `Content-Type`, unless the request already has one.
    package mutating func setContentTypeIfAbsent(_ type: String) {
        if value(forHTTPHeaderField: "Content-Type") == nil { setValue(type, forHTTPHeaderField: "Content-Type") }
    }
}
