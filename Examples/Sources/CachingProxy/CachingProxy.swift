// The core of a caching proxy, between a web framework and an upstream. Several machines share its cache in Redis.

import Curlew
import CurlewRedis
import CurlewTesting
import Foundation

/// Forwards requests to an upstream, and keeps its responses. Call `respond` in the handler of your web framework.
struct CachingProxy: Sendable {
    struct Reply: Sendable {
        var status: Int
        var headers: HTTPHeaders
        var body: Data

        static func failure(_ status: Int) -> Self { Self(status: status, headers: [:], body: Data()) }
    }

    /// The origin of the upstream, without a path.
    private let upstream: String
    private let session: Session

    init(upstream: String, store: any CacheStore) {
        self.upstream = upstream
        session = Session(
            configuration: SessionConfiguration {
                // A shared cache stores nothing that is meant for one user.
                $0.cache = ResponseCache(store: store, mode: .shared)
                $0.timeouts.total = .seconds(30)
            },
            // The client follows redirects itself.
            redirectHandler: .doNotFollow
        )
    }

    /// Returns the response to a request for a path with its query.
    func respond(to method: HTTPMethod, _ path: String, headers: HTTPHeaders = [:], body: Data? = nil) async -> Reply {
        // Appended as text: resolved as a reference, `//elsewhere/` would lead to another server.
        guard path.hasPrefix("/"), let url = URL(string: upstream + path) else { return .failure(400) }
        var request = URLRequest(url: url)
        request.method = method
        request.headers = headers.forwarded(without: "Host")
        request.httpBody = body

        let response = await session.request(request).response()
        guard let head = response.head, response.error == nil else {
            return .failure(response.error?.isTimeout == true ? 504 : 502)
        }
        // The session has decoded the body, so its coding and its length do not apply.
        var fields = head.headers.forwarded(without: "Content-Encoding", "Content-Length")
        fields["Cache-Status"] = response.cacheStatus?.description
        return Reply(status: head.status, headers: fields, body: response.data ?? Data())
    }
}

extension HTTPHeaders {
    /// Returns the fields that a proxy forwards: not those of one connection (RFC 9110, section 7.6.1).
    func forwarded(without others: String...) -> HTTPHeaders {
        let named = values(for: "Connection").flatMap { $0.split(whereSeparator: ", \t".contains) }.map(String.init)
        let hopByHop = ["Connection", "Keep-Alive", "Proxy-Connection", "TE", "Transfer-Encoding", "Upgrade"]
        var copy = self
        for name in named + others + hopByHop { copy.remove(name: name) }
        return copy
    }
}

// MARK: - Demonstration

@main
enum Demonstration {
    static func main() async throws {
        guard let redis = try await RedisProcess.start() else {
            print("SKIPPED: redis-server is missing")
            exit(ProcessInfo.processInfo.environment["CI"] == "true" ? 1 : 0)
        }
        // Not SIGTERM, because that signal is blocked in a process that a Swift task has started.
        defer { kill(redis.process.processIdentifier, SIGKILL) }
        let upstream = try TestServer()
        upstream.route("/owl") { _ in .text("owl").header("Cache-Control", "max-age=60").delayed(by: .seconds(0.1)) }
        let proxies = (1...2).map { _ in CachingProxy(upstream: "\(upstream.url)", store: redis.store()) }

        await withTaskGroup(of: CachingProxy.Reply.self) { group in
            for client in 0..<10 { group.addTask { await proxies[client % 2].respond(to: .get, "/owl") } }
            for await reply in group { print(reply.status, reply.headers["Cache-Status"] ?? "") }
        }
        print("10 responses, \(upstream.requestCount) request to the upstream")
    }
}

/// A `redis-server` for the demonstration alone.
struct RedisProcess {
    let process = Process()
    private let url: String

    /// Returns `nil` if there is no `redis-server`.
    static func start() async throws -> RedisProcess? {
        let redis = RedisProcess()
        try redis.process.run()
        while redis.process.isRunning {
            if (try? await redis.store().ping()) != nil { return redis }
            try await Task.sleep(for: .milliseconds(20))
        }
        // 127 is the answer of `env` to a missing command. Otherwise the port is in use.
        return redis.process.terminationStatus == 127 ? nil : try await start()
    }

    private init() {
        let (port, password) = (Int.random(in: 20_000..<30_000), UUID().uuidString)
        url = "redis://:\(password)@127.0.0.1:\(port)"
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments =
            ["redis-server", "--bind", "127.0.0.1", "--port", "\(port)", "--requirepass", password]
            + ["--save", "", "--dir", FileManager.default.temporaryDirectory.path()]
        process.standardOutput = FileHandle.nullDevice
    }

    /// Waits longer for Redis than a server should: on a busy machine, a hit would become a miss.
    func store() -> RedisCacheStore {
        RedisCacheStore(url: url, connectTimeout: .seconds(2), operationTimeout: .seconds(2))
    }
}
