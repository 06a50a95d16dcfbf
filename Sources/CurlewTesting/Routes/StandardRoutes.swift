/// The httpbin-like routes. Extensions in this folder add them by families.
enum StandardRoutes {
    struct Entry: Sendable {
        var pattern: String
        /// The accepted methods; `nil` accepts all.
        var methods: Set<String>?
        var handler: @Sendable (TestServer.Request) throws -> TestServer.Response

        init(
            _ pattern: String, _ methods: Set<String>? = ["GET"],
            _ handler: @escaping @Sendable (TestServer.Request) throws -> TestServer.Response
        ) {
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

    /// A parameter that is not a number, or that would let a client exhaust the server's process.
    struct OutOfBounds: Error {
        let name: String
        let limit: Int
    }

    /// The largest number of pieces of a body that is built before it is sent.
    static let largestCount = 100_000
    /// The largest size of a body that is generated while it is sent, or that a compressed body decodes to.
    static let largestBody = 16 << 30
    /// The longest pause in seconds: a day.
    static let longestPause = 86_400

    static let all: [Entry] =
        echo + status + bytes + streams + redirects + cookies + authentication + compression + ranges + caching
        + formats
}

extension TestServer.Request {
    /// Returns a placeholder or query value as an integer; `nil` if it is missing or invalid.
    func number(_ name: String) -> Int? { (parameters[name] ?? queryValue(name)).flatMap { Int($0) } }

    /// Returns a placeholder or query value as a count, or `standard` if it is missing.
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

    /// Returns a placeholder or query value in seconds; `nil` if it is missing.
    func seconds(_ name: String) throws(StandardRoutes.OutOfBounds) -> Duration? {
        guard let text = parameters[name] ?? queryValue(name) else { return nil }
        let limit = StandardRoutes.longestPause
        guard let value = Double(text), value >= 0, value <= Double(limit) else {
            throw StandardRoutes.OutOfBounds(name: name, limit: limit)
        }
        return .seconds(value)
    }
}
