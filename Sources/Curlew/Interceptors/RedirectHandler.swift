public import CurlewCore
internal import Foundation
public import FoundationNetworking

/// Decides about a redirect before it is followed.
///
/// Write one of the two forms; Curlew calls the `async` one. The session's own rules (limits, origins, methods)
/// come first: `request` is what they would send. nil stops: the redirect itself is the response then.
public protocol RedirectHandler: Sendable {
    func task(
        _ task: TaskIdentifier,
        willBeRedirectedTo request: URLRequest,
        for response: HTTPURLResponse
    ) async -> URLRequest?

    func task(
        _ task: TaskIdentifier,
        willBeRedirectedTo request: URLRequest,
        for response: HTTPURLResponse,
        completion: @escaping @Sendable (URLRequest?) -> Void
    )
}

extension RedirectHandler {
    public func task(
        _ task: TaskIdentifier,
        willBeRedirectedTo request: URLRequest,
        for response: HTTPURLResponse
    ) async -> URLRequest? {
        await CompletionBridge.answer(orIfCancelled: nil) {
            self.task(task, willBeRedirectedTo: request, for: response, completion: $0)
        }
    }

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
    public enum Behavior: Sendable {
        case follow
        /// The redirect itself is the response.
        case doNotFollow
        /// nil does not follow.
        case modify(
            @Sendable (_ task: TaskIdentifier, _ request: URLRequest, _ response: HTTPURLResponse) -> URLRequest?
        )
    }

    public static let follow = Redirector(behavior: .follow)
    public static let doNotFollow = Redirector(behavior: .doNotFollow)

    public let behavior: Behavior

    public init(behavior: Behavior) { self.behavior = behavior }

    public func task(
        _ task: TaskIdentifier,
        willBeRedirectedTo request: URLRequest,
        for response: HTTPURLResponse
    ) async -> URLRequest? {
        decision(task, request, response)
    }

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
    public static var follow: Redirector { Redirector(behavior: .follow) }

    public static var doNotFollow: Redirector { Redirector(behavior: .doNotFollow) }

    /// Follows what the closure answers; nil does not follow.
    public static func modify(
        using closure: @escaping @Sendable (TaskIdentifier, URLRequest, HTTPURLResponse) -> URLRequest?
    ) -> Redirector {
        Redirector(behavior: .modify(closure))
    }
}
