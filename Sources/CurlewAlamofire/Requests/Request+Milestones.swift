public import Curlew
public import Dispatch
internal import Foundation
public import FoundationNetworking

// Alamofire's closures and streams about the steps of a request. The core has `EventMonitor` for them, `attempts`
// afterwards, and `onHTTPResponse` with an `async` closure.
extension Request {
    /// Sets a closure that is called with the head of the response. The body waits until the closure has returned.
    @discardableResult
    public func onHTTPResponse(
        on queue: DispatchQueue = .main,
        perform handler: @escaping @Sendable (_ response: HTTPURLResponse) -> Void
    ) -> Self {
        setHeadObserver(on: queue, handler)
        return self
    }

    /// Sets a closure that decides from the head of the response whether to receive the body. The body waits for the
    /// answer.
    @discardableResult
    public func onHTTPResponse(
        on queue: DispatchQueue = .main,
        perform handler:
            @escaping @Sendable (
                _ response: HTTPURLResponse,
                _ completionHandler: @escaping @Sendable (ResponseDisposition) -> Void
            ) -> Void
    ) -> Self {
        setHeadDecision(on: queue, handler)
        return self
    }

    /// The heads of the responses of all attempts.
    public func httpResponses(
        bufferingPolicy: StreamOf<HTTPURLResponse>.BufferingPolicy = .bufferingNewest(100)
    ) -> StreamOf<HTTPURLResponse> {
        heads(bufferingPolicy)
    }

    /// Sets a closure that is called with the final `URLRequest` of every attempt, immediately if there is one already.
    /// The last closure set is used.
    @discardableResult
    public func onURLRequestCreation(
        on queue: DispatchQueue = .main,
        perform handler: @escaping @Sendable (URLRequest) -> Void
    ) -> Self {
        setRequestCreationHook(on: queue, handler)
    }

    /// Sets a closure that is called with the identifier of every exchange, immediately if there is one already. The
    /// last closure set is used.
    @discardableResult
    public func onURLSessionTaskCreation(
        on queue: DispatchQueue = .main,
        perform handler: @escaping @Sendable (TaskIdentifier) -> Void
    ) -> Self {
        setTaskCreationHook(on: queue, handler)
    }

    /// The final `URLRequest`s of all attempts.
    public func urlRequests(
        bufferingPolicy: StreamOf<URLRequest>.BufferingPolicy = .bufferingNewest(100)
    ) -> StreamOf<URLRequest> {
        createdRequests(bufferingPolicy)
    }

    /// The identifiers of all exchanges.
    public func urlSessionTasks(
        bufferingPolicy: StreamOf<TaskIdentifier>.BufferingPolicy = .bufferingNewest(100)
    ) -> StreamOf<TaskIdentifier> {
        createdTasks(bufferingPolicy)
    }

    /// Sets the credential that answers the server's challenges. Its persistence decides whether later requests use it
    /// too.
    @discardableResult
    public func authenticate(with credential: URLCredential) -> Self {
        let (username, password) = (credential.user ?? "", credential.password ?? "")
        return authenticate(TransferAuthentication(username: username, password: password), credential.persistence)
    }
}
