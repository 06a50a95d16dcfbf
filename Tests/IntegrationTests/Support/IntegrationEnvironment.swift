import CurlewCore
import CurlewTransport
import Foundation
import Testing

/// The addresses of the real servers. `scripts/servers` writes the file that `CURLEW_TEST_SERVERS` names.
struct IntegrationEnvironment: Sendable {
    struct Missing: Error, CustomStringConvertible {
        let description: String
    }

    let values: [String: String]

    /// The contents of the file that the environment variable names, or the reason why there are none.
    private static let loaded: Result<IntegrationEnvironment, Missing> = {
        guard let path = ProcessInfo.processInfo.environment["CURLEW_TEST_SERVERS"] else {
            return .failure(Missing(description: "CURLEW_TEST_SERVERS is not set: run `make test`"))
        }
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            return .failure(Missing(description: "\(path) cannot be read: run scripts/servers start"))
        }
        var values: [String: String] = [:]
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: "=", maxSplits: 1)
            if parts.count == 2 { values[String(parts[0])] = String(parts[1]) }
        }
        return .success(IntegrationEnvironment(values: values))
    }()

    /// Whether libcurl uses GnuTLS. Docs/Security.md lists the limits of such a libcurl.
    static let usesGnuTLS = Capabilities.ofLibcurl.usesTLS("GnuTLS")

    static let isContinuousIntegration = ProcessInfo.processInfo.environment["CI"] == "true"

    /// Whether tests with real servers run. Without servers they are skipped, except in CI, where they fail.
    static var shouldRun: Bool {
        if case .success = loaded { return true }
        return isContinuousIntegration
    }

    static func current() throws -> IntegrationEnvironment { try loaded.get() }

    func text(_ name: String) throws -> String {
        guard let value = values[name] else { throw Missing(description: "the servers' file has no \(name)") }
        return value
    }

    func url(_ name: String, _ path: String = "") throws -> URL {
        let text = try text(name) + path
        guard let url = URL(string: text) else { throw Missing(description: "\(text) is no URL") }
        return url
    }

    func file(_ name: String) throws -> URL { URL(fileURLWithPath: try text(name)) }

    /// Returns the URL of a path at one of the servers.
    static func url(_ name: String, _ path: String = "") throws -> URL { try current().url(name, path) }
    static func text(_ name: String) throws -> String { try current().text(name) }
    static func file(_ name: String) throws -> URL { try current().file(name) }

    /// Whether a sanitizer runs. It allocates in the same process, so measurements of memory are meaningless.
    static let isSanitized = (ProcessInfo.processInfo.environment["CURLEW_SANITIZER"] ?? "plain") != "plain"

    /// The value of a variable that makes a test longer, or `standard` if it is not set.
    static func number(_ name: String, default standard: Int) -> Int {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? standard
    }
}

extension Trait where Self == ConditionTrait {
    /// Enables a test if there are real servers. In CI it runs in any case, and fails if they are missing.
    static var realServers: Self {
        .enabled(
            if: IntegrationEnvironment.shouldRun,
            "no real servers: run `make test`, or scripts/servers start and set CURLEW_TEST_SERVERS"
        )
    }
}

extension Capabilities {
    /// The most connections that concurrent requests may open to a host over HTTP/2 or HTTP/3. They do not wait for a
    /// connection's first response if libcurl would wait too long.
    var mostConnectionsOfABurst: Int { quirks.waitsForOthersResponses ? 6 : 1 }
}
