public import CurlewCore
internal import Foundation
public import FoundationNetworking

/// Decides about a redirect before it is followed.
///
/// Write one of the two forms; Curlew calls the `async` one. The session's own rules (limits, origins, methods)
/// come first: `request` is what they would send. nil stops: the redirect itself is the response then.
public protocol RedirectHandler: Sendable {
    /// Answers the request to send next, changed or not, or nil where the redirect is not to be followed.
    func task(
        _ task: TaskIdentifier,
        willBeRedirectedTo request: URLRequest,
        for response: HTTPURLResponse
    ) async -> URLRequest?

    /// The same in Alamofire's form: the closure is called with the request, or nil.
    func task(
        _ task: TaskIdentifier,
        willBeRedirectedTo request: URLRequest,
        for response: HTTPURLResponse,
        completion: @escaping @Sendable (URLRequest?) -> Void
    )
}

extension RedirectHandler {
    /// Asks the completion form.
    public func task(
        _ task: TaskIdentifier,
        willBeRedirectedTo request: URLRequest,
        for response: HTTPURLResponse
    ) async -> URLRequest? {
        await CompletionBridge.answer(orIfCancelled: nil) {
            self.task(task, willBeRedirectedTo: request, for: response, completion: $0)
        }
    }

    /// Follows the redirect as the policy would.
    public func task(
        _ task: TaskIdentifier,
        willBeRedirectedTo request: URLRequest,
        for response: HTTPURLResponse,
        completion: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completion(request)
    }
}

/// Follows redirects, or does not, or changes them.
public struct Redirector: RedirectHandler {
    /// What a `Redirector` does with a redirect.
    public enum Behavior: Sendable {
        /// Sends what the policy would send.
        case follow
        /// The redirect itself is the response.
        case doNotFollow
        /// nil does not follow.
        case modify(
            @Sendable (_ task: TaskIdentifier, _ request: URLRequest, _ response: HTTPURLResponse) -> URLRequest?
        )
    }

    /// A redirector that follows.
    public static let follow = Redirector(behavior: .follow)
    /// A redirector that does not follow: the redirect is the response.
    public static let doNotFollow = Redirector(behavior: .doNotFollow)

    /// What this redirector does.
    public let behavior: Behavior

    /// Makes a redirector.
    public init(behavior: Behavior) { self.behavior = behavior }

    /// Does what `behavior` says.
    public func task(
        _ task: TaskIdentifier,
        willBeRedirectedTo request: URLRequest,
        for response: HTTPURLResponse
    ) async -> URLRequest? {
        decision(task, request, response)
    }

    /// Does what `behavior` says, in Alamofire's form.
    public func task(
        _ task: TaskIdentifier,
        willBeRedirectedTo request: URLRequest,
        for response: HTTPURLResponse,
        completion: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completion(decision(task, request, response))
    }

    private func decision(_ task: TaskIdentifier, _ request: URLRequest, _ response: HTTPURLResponse) -> URLRequest? {
        switch behavior {
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

    /// Follows what the closure answers; nil does not follow.
    public static func modify(
        using closure: @escaping @Sendable (TaskIdentifier, URLRequest, HTTPURLResponse) -> URLRequest?
    ) -> Redirector {
        Redirector(behavior: .modify(closure))
    }
}
