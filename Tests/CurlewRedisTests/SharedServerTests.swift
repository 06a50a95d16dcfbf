import CurlewCore
import CurlewRedis
import Foundation
import StoreSupport
import Testing

/// Tests with the servers that `scripts/servers` starts. Other tests use them as well, so each test has its own prefix.
@Suite("The Redis servers of scripts/servers", .enabled(if: SharedServers.shouldRun, "run `make test`"))
struct SharedServerTests {
    @Test("two stores share entries, with and without a password", arguments: [false, true])
    func sharing(hasPassword: Bool) async throws {
        let address = try #require(SharedServers.values[hasPassword ? "REDIS_WITH_PASSWORD" : "REDIS"])
        let login = hasPassword ? ":" + (try #require(SharedServers.values["REDIS_PASSWORD"])) + "@" : ""
        let prefix = "test-\(UUID().uuidString):"
        let stores = (0..<2).map { _ in
            RedisCacheStore(
                url: "redis://" + login + address,
                prefix: prefix,
                connectTimeout: .seconds(5),
                operationTimeout: .seconds(5)
            )
        }
        try await stores[0].ping()
        #expect(await stores[0].put(entry("a"), bytes(700_000)))
        #expect(try await stores[1].body(entry("a").key) == bytes(700_000))
        await stores[1].removeAll()
        #expect(await stores[0].entries(for: entry("a").key).isEmpty)
    }
}

/// The values in the file that `scripts/servers` writes.
private enum SharedServers {
    static let values: [String: String] = {
        let path = ProcessInfo.processInfo.environment["CURLEW_TEST_SERVERS"] ?? ""
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").reduce(into: [:]) { values, line in
            let parts = line.split(separator: "=", maxSplits: 1)
            if parts.count == 2 { values[String(parts[0])] = String(parts[1]) }
        }
    }()

    static var shouldRun: Bool {
        values["REDIS"] != nil || ProcessInfo.processInfo.environment["CI"] == "true"
    }
}
