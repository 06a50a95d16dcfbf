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
            self.handler = { request in
                do {
                    return try handler(request)
                } catch let error as OutOfBounds {
                    return .text("\(error.name) is a number from 0 to \(error.limit)\n", status: 400)
                }
            }
        }
    }

    /// A parameter that is no number, or one that a client must not make the server's process work for.
    struct OutOfBounds: Error {
        let name: String
        let limit: Int
    }

    /// Pieces of a body that are made before the first is sent.
    static let largestCount = 100_000
    /// Bytes of a body that is made while it is sent, or of one that it decodes to.
    static let largestBody = 16 << 30
    /// A pause, in seconds: a day.
    static let longestPause = 86_400

    static let all: [Entry] =
        echo + status + bytes + streams + redirects + cookies + authentication + compression + ranges + caching
        + formats
}

extension TestServer.Request {
    /// A placeholder or query value as a whole number.
    func number(_ name: String) -> Int? { (parameters[name] ?? queryValue(name)).flatMap { Int($0) } }

    /// A placeholder or query value as a number of things, or `standard` where it is not there.
    func count(
        _ name: String,
        default standard: Int = 0,
        upTo limit: Int = StandardRoutes.largestCount
    ) throws(StandardRoutes.OutOfBounds) -> Int {
        guard let text = parameters[name] ?? queryValue(name) else { return standard }
        guard let count = Int(text), 0...limit ~= count else {
            throw StandardRoutes.OutOfBounds(name: name, limit: limit)
        }
        return count
    }

    /// A placeholder or query value in seconds; nil where it is not there.
    func seconds(_ name: String) throws(StandardRoutes.OutOfBounds) -> Duration? {
        guard let text = parameters[name] ?? queryValue(name) else { return nil }
        let limit = StandardRoutes.longestPause
        guard let value = Double(text), value >= 0, value <= Double(limit) else {
            throw StandardRoutes.OutOfBounds(name: name, limit: limit)
        }
        return .seconds(value)
    }
}
