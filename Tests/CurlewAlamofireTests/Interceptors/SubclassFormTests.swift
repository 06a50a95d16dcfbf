import CurlewAlamofire
import CurlewTesting
import Dispatch
import Foundation
import FoundationNetworking
import Testing

private typealias Answer = @Sendable (Result<URLRequest, any Error>) -> Void

/// A part that implements the `async` forms only.
private struct AsyncPart: RequestInterceptor {
    func adapt(_ urlRequest: URLRequest, for session: Session) async throws -> URLRequest {
        await Task.yield()
        return urlRequest.marked("part")
    }

    func retry(_ request: Request, for session: Session, dueTo error: any Error) async -> RetryResult {
        await Task.yield()
        return request.retryCount == 0 ? .retry : .doNotRetry
    }
}

// Each of these subclasses overrides one form and calls `super`.

// SAFETY: it adds no stored property, like the subclasses that follow.
private final class UsingInterceptor: Interceptor, @unchecked Sendable {
    override func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        try await super.adapt(urlRequest.marked("own"), using: state)
    }
}

// SAFETY: see above.
private final class UsingCompletionInterceptor: Interceptor, @unchecked Sendable {
    override func adapt(
        _ urlRequest: URLRequest, using state: RequestAdapterState, completion: @escaping Answer
    ) {
        super.adapt(urlRequest.marked("own"), using: state, completion: completion)
    }
}

// SAFETY: see above.
private final class SessionInterceptor: Interceptor, @unchecked Sendable {
    override func adapt(_ urlRequest: URLRequest, for session: Session) async throws -> URLRequest {
        try await super.adapt(urlRequest.marked("own"), for: session)
    }
}

// SAFETY: see above.
private final class SessionCompletionInterceptor: Interceptor, @unchecked Sendable {
    override func adapt(_ urlRequest: URLRequest, for session: Session, completion: @escaping Answer) {
        super.adapt(urlRequest.marked("own"), for: session, completion: completion)
    }
}

/// Answers from another thread, as code for Alamofire does that fetches something first.
// SAFETY: see above.
private final class LateInterceptor: Interceptor, @unchecked Sendable {
    override func adapt(_ urlRequest: URLRequest, for session: Session, completion: @escaping Answer) {
        DispatchQueue.global().async { super.adapt(urlRequest.marked("own"), for: session, completion: completion) }
    }
}

/// Overrides both forms with a completion handler, as code for Alamofire has to.
// SAFETY: see above.
private final class TwiceInterceptor: Interceptor, @unchecked Sendable {
    override func adapt(_ urlRequest: URLRequest, for session: Session, completion: @escaping Answer) {
        super.adapt(urlRequest.marked("own"), for: session, completion: completion)
    }

    override func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState, completion: @escaping Answer) {
        super.adapt(urlRequest.marked("own"), using: state, completion: completion)
    }
}

/// Implements one form by calling another, with a state that it creates.
// SAFETY: see above.
private final class RoundaboutInterceptor: Interceptor, @unchecked Sendable {
    override func adapt(_ urlRequest: URLRequest, for session: Session) async throws -> URLRequest {
        let state = RequestAdapterState(requestID: UUID(), session: session)
        return try await adapt(urlRequest, using: state).marked("own")
    }
}

/// Changes the result of its parts.
// SAFETY: see above.
private final class LastInterceptor: Interceptor, @unchecked Sendable {
    override func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState, completion: @escaping Answer) {
        super.adapt(urlRequest, using: state) { result in completion(result.map { $0.marked("own") }) }
    }
}

// SAFETY: see above.
private final class UsingAdapter: Adapter, @unchecked Sendable {
    override func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
        try await super.adapt(urlRequest.marked("own"), using: state)
    }
}

// SAFETY: see above.
private final class UsingCompletionAdapter: Adapter, @unchecked Sendable {
    override func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState, completion: @escaping Answer) {
        super.adapt(urlRequest.marked("own"), using: state, completion: completion)
    }
}

// SAFETY: see above.
private final class SessionAdapter: Adapter, @unchecked Sendable {
    override func adapt(_ urlRequest: URLRequest, for session: Session) async throws -> URLRequest {
        try await super.adapt(urlRequest.marked("own"), for: session)
    }
}

// SAFETY: see above.
private final class SessionCompletionAdapter: Adapter, @unchecked Sendable {
    override func adapt(_ urlRequest: URLRequest, for session: Session, completion: @escaping Answer) {
        super.adapt(urlRequest.marked("own"), for: session, completion: completion)
    }
}

@Suite("Subclasses of Interceptor and Adapter", .timeLimit(.minutes(4)))
struct SubclassFormTests {
    private func marks(of adapter: any RequestInterceptor) async throws -> String? {
        let transport = MockTransport { .text($0.headers["Marks"] ?? "none") }
        return try await Session(transport: transport, interceptor: adapter).request("https://example.org/").string()
    }

    private static let interceptors: [Interceptor] = [
        UsingInterceptor(interceptors: [AsyncPart()]), UsingCompletionInterceptor(interceptors: [AsyncPart()]),
        SessionInterceptor(interceptors: [AsyncPart()]), SessionCompletionInterceptor(interceptors: [AsyncPart()]),
        LateInterceptor(interceptors: [AsyncPart()]), TwiceInterceptor(interceptors: [AsyncPart()]),
    ]

    @Test(arguments: interceptors.indices)
    func requestCallsTheOverriddenAdapterForm(index: Int) async throws {
        #expect(try await marks(of: Self.interceptors[index]) == "own part")
    }

    @Test(arguments: interceptors.indices)
    func interceptorMayContainASubclass(index: Int) async throws {
        let inner = Self.interceptors[index]
        #expect(try await marks(of: Interceptor(interceptors: [inner, inner])) == "own part own part")
        #expect(try await marks(of: TwiceInterceptor(interceptors: [inner])) == "own own part")
    }

    @Test func overrideMayChangeTheAdaptedRequest() async throws {
        #expect(try await marks(of: LastInterceptor(interceptors: [AsyncPart()])) == "part own")
    }

    @Test func adapterOverrideMayCallAnotherForm() async throws {
        #expect(try await marks(of: RoundaboutInterceptor(interceptors: [AsyncPart()])) == "part own")
    }

    @Test(arguments: [true, false])
    func anAdaptersSubclassOverridesAnyForm(isAsync: Bool) async throws {
        let completes: AdaptHandler = { request, _, completion in completion(.success(request.marked("closure"))) }
        let waits: @Sendable (URLRequest, Session) async throws -> URLRequest = { request, _ in
            await Task.yield()
            return request.marked("closure")
        }
        let adapters: [Adapter] =
            isAsync
            ? [
                UsingAdapter(waits), UsingCompletionAdapter(waits), SessionAdapter(waits),
                SessionCompletionAdapter(waits),
            ]
            : [
                UsingAdapter(completes), UsingCompletionAdapter(completes), SessionAdapter(completes),
                SessionCompletionAdapter(completes),
            ]
        for adapter in adapters { #expect(try await marks(of: adapter) == "own closure") }
    }

    @Test(arguments: interceptors.indices)
    func adaptWithCompletionCallsAllParts(index: Int) async throws {
        let session = Session(transport: MockTransport())
        let plain = URLRequest(url: URL(filePath: "/"))
        // A class that overrides another form than the called one behaves like its base class.
        for own in [true, false] {
            let result = try await withCheckedThrowingContinuation { continuation in
                let interceptor = Self.interceptors[index]
                if own {
                    interceptor.adapt(plain, for: session) { continuation.resume(with: $0) }
                } else {
                    let state = RequestAdapterState(requestID: UUID(), session: session)
                    interceptor.adapt(plain, using: state) { continuation.resume(with: $0) }
                }
            }
            #expect(result.headers["Marks"]?.hasSuffix("part") == true)
        }
    }

    @Test func cancellationReachesAdapterThroughOverride() async throws {
        let started = Gate()
        let ended = Recorded<Bool>()
        let sleeping = Adapter { request, _ in
            started.open()
            defer { ended.note(Task.isCancelled) }
            try await Gate().wait()
            return request
        }
        let session = Session(
            transport: MockTransport { _ in .text("never") },
            interceptor: UsingCompletionInterceptor(interceptors: [sleeping]))
        let task = Task { try await session.request("https://example.org/").data() }
        try await started.wait()
        task.cancel()
        let error = await #expect(throws: CurlewError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        // The request waited for its adapter.
        #expect(ended.all == [true])
    }

    @Test func requestSentByOverrideIsAdapted() async throws {
        // SAFETY: see above.
        final class Fetching: Interceptor, @unchecked Sendable {
            override func adapt(
                _ urlRequest: URLRequest, using state: RequestAdapterState, completion: @escaping Answer
            ) {
                guard urlRequest.url?.path != "/token" else { return completion(.success(urlRequest.marked("token"))) }
                Task {
                    let token = try await state.session.request("https://example.org/token").string()
                    super.adapt(urlRequest.marked(token), using: state, completion: completion)
                }
            }
        }
        #expect(try await marks(of: Fetching(interceptors: [AsyncPart()])) == "token part")
    }
}
