internal import Curlew
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

/// A class of adapters that can be subclassed. Only calling the four forms shows which of them a subclass overrides.
protocol OverridableAdapter: AnyObject, RequestAdapter {
    /// Adapts the request as the base class does, without any form of a subclass.
    func adaptItself(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest
}

/// Finds the form of `adapt` that a subclass overrides, for one request.
///
/// Each form of the base class passes the request to the next form that has not been called yet, and the last one
/// adapts it as the base class does. So an override is reached from whichever form is called first. If an override
/// changes the request and calls `super`, it is the override that was looked for, and no other form is called.
final class AdapterForms: Sendable {
    /// The forms, in the order in which a `RequestAdapter` tries them.
    enum Form: CaseIterable {
        case using, usingCompletion, session, sessionCompletion
    }

    /// The forms that the current task is passing a request through.
    @TaskLocal private static var current: AdapterForms?

    private let adapter: any OverridableAdapter
    private let given: URLRequest
    private let state: RequestAdapterState
    private let work: ChildWork
    private let called = Lock<Set<Form>>([])

    private init(
        _ adapter: any OverridableAdapter,
        _ given: URLRequest,
        _ state: RequestAdapterState,
        _ work: ChildWork
    ) {
        self.adapter = adapter
        self.given = given
        self.state = state
        self.work = work
    }

    /// Passes a request through the forms other than `first`, which has been called.
    fileprivate static func adapt(
        _ urlRequest: URLRequest,
        after first: Form,
        of adapter: any OverridableAdapter,
        using state: RequestAdapterState
    ) async throws -> URLRequest {
        let result = await ChildWork.during { work in
            let forms = AdapterForms(adapter, urlRequest, state, work)
            return await forms.result(of: urlRequest, after: first)
        }
        return try result.get()
    }

    /// Returns the adapter's forms if the current task is passing a request through them. An override may create a
    /// state for `super`. If the state has another request, the override sends that request itself, and the result is
    /// `nil`.
    fileprivate static func current(of adapter: any OverridableAdapter, _ state: RequestAdapterState?) -> AdapterForms?
    {
        guard let current, current.adapter === adapter else { return nil }
        guard let request = state?.request else { return current }
        return current.state.request === request ? current : nil
    }

    /// Passes the request of a form with a completion handler to the next form, and the result to the handler.
    fileprivate func pass(_ urlRequest: URLRequest, after form: Form, to completion: @escaping Completion) {
        work.start(completion) { await self.result(of: urlRequest, after: form) }
    }

    private func result(of urlRequest: URLRequest, after form: Form) async -> Result<URLRequest, any Error> {
        await Self.$current.withValue(self) {
            await Result.of { try await pass(urlRequest, after: form) }
        }
    }

    fileprivate func pass(_ urlRequest: URLRequest, after form: Form) async throws -> URLRequest {
        switch next(after: form, urlRequest) {
        case nil: try await adapter.adaptItself(urlRequest, using: state)
        case .using: try await adapter.adapt(urlRequest, using: state)
        case .usingCompletion:
            try await CompletionBridge.value { adapter.adapt(urlRequest, using: state, completion: $0) }
        case .session: try await adapter.adapt(urlRequest, for: state.session)
        case .sessionCompletion:
            try await CompletionBridge.value { adapter.adapt(urlRequest, for: state.session, completion: $0) }
        }
    }

    /// Returns the next form, or `nil` if the base class adapts the request.
    private func next(after form: Form, _ urlRequest: URLRequest) -> Form? {
        called.withLock { called in
            called.insert(form)
            guard urlRequest.isCopy(of: given), let next = Form.allCases.first(where: { !called.contains($0) }) else {
                return nil
            }
            called.insert(next)
            return next
        }
    }

    typealias Completion = @Sendable (Result<URLRequest, any Error>) -> Void
}

// Called by the forms of a base class if the object is of a subclass.
extension OverridableAdapter {
    func adaptByForms(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        if let forms = AdapterForms.current(of: self, state) { return try await forms.pass(urlRequest, after: .using) }
        return try await AdapterForms.adapt(urlRequest, after: .using, of: self, using: state)
    }

    func adaptByForms(_ urlRequest: URLRequest, for session: Session) async throws -> URLRequest {
        if let forms = AdapterForms.current(of: self, nil) { return try await forms.pass(urlRequest, after: .session) }
        let state = RequestAdapterState(requestID: UUID(), session: session)
        return try await AdapterForms.adapt(urlRequest, after: .session, of: self, using: state)
    }

    /// Passes the request on, or returns false if the current task is not passing a request through the adapter's
    /// forms.
    func passes(
        _ urlRequest: URLRequest,
        using state: RequestAdapterState,
        to completion: @escaping AdapterForms.Completion
    ) -> Bool {
        guard let forms = AdapterForms.current(of: self, state) else { return false }
        forms.pass(urlRequest, after: .usingCompletion, to: completion)
        return true
    }

    /// Passes the request on, or returns false if the current task is not passing a request through the adapter's
    /// forms.
    func passes(_ urlRequest: URLRequest, to completion: @escaping AdapterForms.Completion) -> Bool {
        guard let forms = AdapterForms.current(of: self, nil) else { return false }
        forms.pass(urlRequest, after: .sessionCompletion, to: completion)
        return true
    }
}
