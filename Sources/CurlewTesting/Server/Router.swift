internal import CurlewLocks
internal import Foundation

/// The routes by path, and the scripts, which take precedence.
final class Router: Sendable {
    enum Handler: Sendable {
        /// Called on the server's thread.
        case immediate(@Sendable (TestServer.Request) throws -> TestServer.Response)
        /// Called in a task.
        case asynchronous(@Sendable (TestServer.Request) async throws -> TestServer.Response)
    }

    enum Answer {
        case response(TestServer.Response)
        /// The route is asynchronous, and called by creating a `PendingResponse`.
        case call(@Sendable () async -> TestServer.Response)
    }

    struct Route: Sendable {
        var pattern: PathPattern
        /// The accepted methods; `nil` accepts all.
        var methods: Set<String>?
        var expectation: TestServer.Expectation?
        var handler: Handler
    }

    private struct State: Sendable {
        /// Routes in the order of registration; the last one that matches is used.
        var routes: [Route] = []
        var scripts: [String: [TestServer.Response]] = [:]
        var connectionScripts: [[TestServer.Response]] = []
        var everyConnection: [TestServer.Response]?

        mutating func replaceEveryConnection(with new: [TestServer.Response]?) -> [TestServer.Response]? {
            defer { everyConnection = new }
            return everyConnection
        }
    }

    private let state = Lock(State())

    func add(_ route: Route) { state.withLock { $0.routes.append(route) } }

    func script(_ path: String, _ responses: [TestServer.Response]) {
        state.withLock { $0.scripts[path, default: []] += responses }
    }

    func scriptNextConnection(_ responses: [TestServer.Response]) {
        state.withLock { $0.connectionScripts.append(responses) }
    }

    func scriptEveryConnection(_ responses: [TestServer.Response]?) {
        _ = state.withLock { $0.replaceEveryConnection(with: responses) }
    }

    func removeScripts() {
        _ = state.withLock { state in
            let old = state
            state = State(routes: old.routes)
            return old
        }
    }

    /// Removes all routes and scripts. This breaks reference cycles: a route's closure may retain the server.
    func removeEverything() {
        // The old state is released outside the lock, because its closures may run arbitrary deinitializers.
        _ = state.withLock { state in
            let old = state
            state = State()
            return old
        }
    }

    func takeConnectionScript() -> [TestServer.Response] {
        state.withLock { state in
            if !state.connectionScripts.isEmpty { return state.connectionScripts.removeFirst() }
            return state.everyConnection ?? []
        }
    }

    /// Removes and returns the next response of the path's script.
    func takeScripted(_ path: String) -> TestServer.Response? {
        state.withLock { state in
            guard var queue = state.scripts[path], !queue.isEmpty else { return nil }
            let first = queue.removeFirst()
            state.scripts[path] = queue.isEmpty ? nil : queue
            return first
        }
    }

    func expectation(for request: TestServer.Request) -> TestServer.Expectation? { match(request)?.0.expectation }

    func respond(to request: TestServer.Request) -> Answer {
        guard let (route, parameters) = match(request) else {
            let isKnown = state.withLock { $0.routes }.contains { $0.pattern.match(request.rawPath) != nil }
            return .response(
                isKnown
                    ? .text("\(request.method) is not answered at \(request.path)\n", status: 405)
                    : .text("nothing at \(request.path)\n", status: 404))
        }
        let called = request.with(parameters)
        switch route.handler {
        case .immediate(let handler):
            do {
                return .response(try handler(called))
            } catch {
                return .response(.failure(error))
            }
        case .asynchronous(let handler):
            return .call {
                do {
                    return try await handler(called)
                } catch {
                    return .failure(error)
                }
            }
        }
    }

    private func match(_ request: TestServer.Request) -> (Route, [String: String])? {
        let path = request.rawPath
        for route in state.withLock({ $0.routes }).reversed() {
            if let methods = route.methods {
                let isHead = request.method == "HEAD" && methods.contains("GET")
                guard methods.contains(request.method) || isHead else { continue }
            }
            if let parameters = route.pattern.match(path) { return (route, parameters) }
        }
        return nil
    }
}

/// The response that an asynchronous route is making in a task.
///
/// The steps of an exchange wait for `isMade`, and then send `response`. They are the only owner of this object: when they
/// are dropped, because the client has left, has reset its stream, or the server has stopped, the task is cancelled.
final class PendingResponse: Sendable {
    /// Opens when the response has been made.
    let isMade: Gate
    private let made: Lock<TestServer.Response?>
    private let task: Task<Void, Never>

    /// Calls the route.
    init(_ call: @escaping @Sendable () async -> TestServer.Response) {
        // The task must not hold this object, whose end cancels it.
        let (isMade, made) = (Gate(), Lock<TestServer.Response?>(nil))
        self.isMade = isMade
        self.made = made
        task = Task {
            let response = await call()
            made.withLock { $0 = response }
            isMade.open()
        }
    }

    deinit { task.cancel() }

    /// The response; `nil` until it has been made.
    var response: TestServer.Response? { made.withLock { $0 } }
}

extension TestServer.Request {
    fileprivate func with(_ parameters: [String: String]) -> Self {
        var request = self
        request.parameters = parameters
        return request
    }
}

extension TestServer.Response {
    /// The response if a route throws.
    fileprivate static func failure(_ error: any Error) -> Self { .text("\(error)\n", status: 500) }
}

/// A pattern such as `/status/{code}`: literal segments, placeholders, and a final `*` that matches any rest.
struct PathPattern: Sendable {
    /// The pattern as written.
    let text: String
    private let segments: [Substring]

    init(_ pattern: String) {
        text = pattern
        segments = pattern.split(separator: "/")
    }

    /// Returns the percent-decoded values of the placeholders; `nil` if the path does not match.
    func match(_ path: String) -> [String: String]? {
        let parts = path.split(separator: "/")
        var parameters: [String: String] = [:]
        for (index, segment) in segments.enumerated() {
            if segment == "*", index == segments.count - 1 {
                parameters["*"] = parts.dropFirst(index).joined(separator: "/")
                return parameters
            }
            guard index < parts.count else { return nil }
            if segment.first == "{", segment.last == "}" {
                parameters[String(segment.dropFirst().dropLast())] =
                    parts[index].removingPercentEncoding ?? String(parts[index])
            } else if segment != parts[index] {
                return nil
            }
        }
        return parts.count == segments.count ? parameters : nil
    }
}
