internal import Foundation
public import FoundationNetworking

/// A credential that authenticates requests, for instance an OAuth token.
public protocol AuthenticationCredential {
    /// Whether the credential must be refreshed before it is used, for instance because it is about to expire.
    var requiresRefresh: Bool { get }
}

/// Applies a credential to requests, recognizes it in them, and refreshes it.
///
/// `refresh` runs once for all requests that wait for it, and continues if any of them is cancelled. Requests that it
/// makes itself do not wait for it.
public protocol Authenticator: AnyObject, Sendable {
    /// The credential that is applied to requests, and refreshed when it has expired.
    associatedtype Credential: AuthenticationCredential & Sendable

    /// Adds the credential to a request.
    func apply(_ credential: Credential, to urlRequest: inout URLRequest)

    /// Returns a new credential that replaces the old one.
    func refresh(_ credential: Credential, for session: Session) async throws -> Credential

    /// Whether the request failed because the server did not accept its credential.
    func didRequest(
        _ urlRequest: URLRequest,
        with response: HTTPURLResponse,
        failDueToAuthenticationError error: any Error
    ) -> Bool

    /// Whether the request carries this credential, and not an older one.
    func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: Credential) -> Bool
}

/// The errors that an authentication interceptor itself reports.
public enum AuthenticationError: Error, Hashable {
    /// There is no credential to authenticate with.
    case missingCredential
    /// The credential was refreshed too often: the server does not accept new ones either.
    case excessiveRefresh
}
