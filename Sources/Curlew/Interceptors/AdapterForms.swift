internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

/// An adapter that others may subclass. Which of the four forms a subclass overrides shows only when they are called.
protocol OverridableAdapter: AnyObject, RequestAdapter {
    /// What the class itself makes of a request.
    func adaptItself(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest
}

/// A request on its way through the forms of one adapter.
///
/// The form that is called first belongs to the base class, unless it is overridden. In the base class each form passes the request
/// on to the next that was not called yet, and the last one makes of it what the class itself does. An override that has changed the
/// request and calls `super` was the one to find: no other is called.
final class AdapterForms: Sendable {
    /// In the order in which a `RequestAdapter` is asked for them.
    enum Form: CaseIterable {
        case using, usingCompletion, session, sessionCompletion
    }

    /// That of the task which a form is called in.
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

    /// What the forms after the first make of a request.
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

    /// Those of the adapter, where the calling task adapts a request by it. An override may make the state for `super`; the state
    /// of another request is that of one which the override sends itself.
    fileprivate static func current(of adapter: any OverridableAdapter, _ state: RequestAdapterState?) -> AdapterForms?
    {
        guard let current, current.adapter === adapter else { return nil }
        guard let request = state?.request else { return current }
        return current.state.request === request ? current : nil
    }

    /// For a form with a completion handler.
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

    /// nil where the class itself adapts the request.
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

// The forms of the base class, where the object is one of a subclass.
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

    /// False where the calling task adapts nothing by it.
    func passes(
        _ urlRequest: URLRequest,
        using state: RequestAdapterState,
        to completion: @escaping AdapterForms.Completion
    ) -> Bool {
        guard let forms = AdapterForms.current(of: self, state) else { return false }
        forms.pass(urlRequest, after: .usingCompletion, to: completion)
        return true
    }

    /// The same.
    func passes(_ urlRequest: URLRequest, to completion: @escaping AdapterForms.Completion) -> Bool {
        guard let forms = AdapterForms.current(of: self, nil) else { return false }
        forms.pass(urlRequest, after: .sessionCompletion, to: completion)
        return true
    }
}
