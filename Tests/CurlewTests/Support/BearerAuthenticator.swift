import Curlew
import Foundation
import FoundationNetworking

/// Sends its credential as a bearer token. A 401 is a refusal of the credential.
protocol BearerAuthenticator: Authenticator where Credential == BearerToken {}

struct BearerToken: AuthenticationCredential, Equatable, Sendable {
    var text: String
    var requiresRefresh = false
}

extension BearerAuthenticator {
    func apply(_ credential: BearerToken, to urlRequest: inout URLRequest) {
        urlRequest.headers.add(.authorization(bearerToken: credential.text))
    }

    func didRequest(
        _ urlRequest: URLRequest,
        with response: HTTPURLResponse,
        failDueToAuthenticationError error: any Error
    ) -> Bool {
        response.statusCode == 401
    }

    func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: BearerToken) -> Bool {
        urlRequest.headers["Authorization"] == "Bearer \(credential.text)"
    }
}
