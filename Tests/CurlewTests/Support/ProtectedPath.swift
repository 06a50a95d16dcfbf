import CurlewCore
import CurlewTesting
import Foundation

extension TestServer {
    /// Protects a path with a realm that accepts `ada` with the password `secret`. Responds with the request's body, or
    /// with `in` if it has none.
    func protect(_ path: String, realm: String = "r") {
        let expected = "Basic " + Data("ada:secret".utf8).base64EncodedString()
        route(path) { call in
            guard call.headers["Authorization"] == expected else {
                return .text("who?", status: 401).header("WWW-Authenticate", "Basic realm=\"\(realm)\"")
            }
            return .data(call.body.isEmpty ? Data("in".utf8) : call.body)
        }
    }
}
