internal import CurlewLocks
internal import Foundation

/// The routes by path, and the scripts that go before them.
final class Router: Sendable {
    typealias Handler = @Sendable (TestServer.Request) throws -> TestServer.Response

    struct Route: Sendable {
        var pattern: PathPattern
        /// nil takes every method.
        var methods: Set<String>?
        var expectation: TestServer.Expectation?
        var handler: Handler
    }

    private struct State: Sendable {
        /// The latest last; it wins.
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

    /// Routes may hold on to the server that holds on to them.
    func removeEverything() {
        // What they hold goes without the lock.
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

    /// The next response of the path's script, once.
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

/// `/status/{code}`: segments that must be equal, placeholders, and `*` at the end for any rest.
struct PathPattern: Sendable {
    /// As it was written.
    let text: String
    private let segments: [Substring]

    init(_ pattern: String) {
        text = pattern
        segments = pattern.split(separator: "/")
    }

    /// The placeholders' values, percent-decoded, when the path fits.
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
