public import CurlewCore
internal import Foundation
public import FoundationNetworking

/// Decides about a redirect before it is followed.
///
/// The session's own rules (limits, origins, methods) are applied first, and `request` is the request that they would
/// send. Return `nil` to refuse the redirect, which then is the response.
public protocol RedirectHandler: Sendable {
    /// Returns the request to send next, or `nil` to refuse the redirect.
    func task(
        _ task: TaskIdentifier,
        willBeRedirectedTo request: URLRequest,
        for response: HTTPURLResponse
    ) async -> URLRequest?
}

/// A redirect handler that follows, refuses or changes redirects.
public struct Redirector: RedirectHandler {
    /// The action that a `Redirector` takes.
    public enum Behavior: Sendable {
        /// Follows the redirect.
        case follow
        /// The redirect itself is the response.
        case doNotFollow
        /// Sends the request that the closure returns. If it returns `nil`, the redirect itself is the response.
        case modify(
            @Sendable (_ task: TaskIdentifier, _ request: URLRequest, _ response: HTTPURLResponse) -> URLRequest?
        )
    }

    /// The action that this redirector takes.
    package let rule: Behavior

    /// Creates a redirector.
    public init(behavior: Behavior) { rule = behavior }

    /// Applies `behavior` to the redirect.
    public func task(
        _ task: TaskIdentifier,
        willBeRedirectedTo request: URLRequest,
        for response: HTTPURLResponse
    ) async -> URLRequest? {
        switch rule {
        case .follow: request
        case .doNotFollow: nil
        case .modify(let change): change(task, request, response)
        }
    }
}

extension RedirectHandler where Self == Redirector {
    /// Follows redirects: `redirect(using: .follow)`.
    public static var follow: Redirector { Redirector(behavior: .follow) }

    /// Leaves redirects as they are: `redirect(using: .doNotFollow)`.
    public static var doNotFollow: Redirector { Redirector(behavior: .doNotFollow) }

    /// Sends the request that the closure returns. If it returns `nil`, the redirect itself is the response.
    public static func modify(
        using closure: @escaping @Sendable (TaskIdentifier, URLRequest, HTTPURLResponse) -> URLRequest?
    ) -> Redirector {
        Redirector(behavior: .modify(closure))
    }
}
