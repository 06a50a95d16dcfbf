internal import CurlewLocks
internal import Foundation

/// The routes by path, and the scripts, which take precedence.
final class Router: Sendable {
    typealias Handler = @Sendable (TestServer.Request) throws -> TestServer.Response

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

    func respond(to request: TestServer.Request) -> TestServer.Response {
        guard let (route, parameters) = match(request) else {
            let isKnown = state.withLock { $0.routes }.contains { $0.pattern.match(request.rawPath) != nil }
            return isKnown
                ? .text("\(request.method) is not answered at \(request.path)\n", status: 405)
                : .text("nothing at \(request.path)\n", status: 404)
        }
        var request = request
        request.parameters = parameters
        do {
            return try route.handler(request)
        } catch {
            return .text("\(error)\n", status: 500)
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
