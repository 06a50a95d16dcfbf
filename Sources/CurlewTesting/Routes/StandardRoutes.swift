internal import Foundation

extension TestServer {
    /// The patterns of the standard routes, in alphabetical order.
    public static let standardRoutes: [String] = StandardRoutes.all.map(\.pattern).sorted()

    func addStandardRoutes() {
        for route in StandardRoutes.all {
            core.router.add(
                Router.Route(
                    pattern: PathPattern(route.pattern),
                    methods: route.methods,
                    expectation: nil,
                    handler: route.handler
                )
            )
        }
    }
}

/// The httpbin-like set, a file per family.
enum StandardRoutes {
    struct Entry: Sendable {
        var pattern: String
        /// nil takes every method.
        var methods: Set<String>?
        var handler: Router.Handler

        init(_ pattern: String, _ methods: Set<String>? = ["GET"], _ handler: @escaping Router.Handler) {
            self.pattern = pattern
            self.methods = methods
            self.handler = handler
        }
    }

    static let all: [Entry] =
        echo + status + bytes + streams + redirects + cookies + authentication + compression + ranges + caching
        + formats
}

extension TestServer.Request {
    /// A placeholder or query value as a whole number.
    func number(_ name: String) -> Int? { (parameters[name] ?? queryValue(name)).flatMap { Int($0) } }

    /// A placeholder or query value in seconds.
    func seconds(_ name: String) -> Duration? {
        guard let value = (parameters[name] ?? queryValue(name)).flatMap({ Double($0) }), value >= 0 else { return nil }
        return .seconds(value)
    }
}
