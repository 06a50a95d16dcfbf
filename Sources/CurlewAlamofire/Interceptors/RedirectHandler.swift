public import Curlew
public import FoundationNetworking

/// Decides about a redirect before it is followed, in Alamofire's form.
///
/// Implement one of the two forms. Curlew calls the `async` form. Its default calls the form with a completion handler,
/// whose default follows the redirect.
public protocol RedirectHandler: Curlew.RedirectHandler {
    /// Passes the request to send next to a completion handler, or `nil` to refuse the redirect.
    func task(
        _ task: TaskIdentifier,
        willBeRedirectedTo request: URLRequest,
        for response: HTTPURLResponse,
        completion: @escaping @Sendable (URLRequest?) -> Void
    )
}

extension RedirectHandler {
    /// Calls the form with a completion handler.
    public func task(
        _ task: TaskIdentifier,
        willBeRedirectedTo request: URLRequest,
        for response: HTTPURLResponse
    ) async -> URLRequest? {
        await CompletionBridge.answer(orIfCancelled: nil) {
            self.task(task, willBeRedirectedTo: request, for: response, completion: $0)
        }
    }

    /// Follows the redirect.
    public func task(
        _ task: TaskIdentifier,
        willBeRedirectedTo request: URLRequest,
        for response: HTTPURLResponse,
        completion: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completion(request)
    }
}

extension Redirector: RedirectHandler {
    /// The action that it takes.
    public var behavior: Behavior { rule }

    /// Applies `behavior` to the redirect.
    public func task(
        _ task: TaskIdentifier,
        willBeRedirectedTo request: URLRequest,
        for response: HTTPURLResponse,
        completion: @escaping @Sendable (URLRequest?) -> Void
    ) {
        switch behavior {
        case .follow: completion(request)
        case .doNotFollow: completion(nil)
        case .modify(let change): completion(change(task, request, response))
        }
    }
}
