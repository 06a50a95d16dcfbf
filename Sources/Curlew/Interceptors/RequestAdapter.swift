public import FoundationNetworking

/// Changes a `URLRequest` before it is sent, for instance to add a token, sign the request, or send it to another host.
///
/// Adapters run once for each attempt, one after the other, and not again for redirects. Cancelling the request cancels
/// the task that runs them, and the request ends once they have returned.
public protocol RequestAdapter: Sendable {
    /// Returns the request to send. `state` has the session and the request's identity. An error that is thrown ends
    /// the attempt with `.adaptationFailed`.
    func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest
}
