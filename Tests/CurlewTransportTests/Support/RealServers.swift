import CurlewCore
import CurlewTransport
import Foundation
import Testing

/// The servers that `scripts/servers start` has started. The environment variable CURLEW_TEST_SERVERS names the file
/// with their addresses.
enum RealServers {
    static let addresses: [String: String] = {
        guard let path = ProcessInfo.processInfo.environment["CURLEW_TEST_SERVERS"],
            let text = try? String(contentsOfFile: path, encoding: .utf8)
        else { return [:] }
        var result: [String: String] = [:]
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: "=", maxSplits: 1)
            if parts.count == 2 { result[String(parts[0])] = String(parts[1]) }
        }
        return result
    }()

    static var areUp: Bool { !addresses.isEmpty }

    /// Whether libcurl uses GnuTLS. Docs/Security.md lists the checks and reports that are missing then.
    static let usesGnuTLS = Capabilities.ofLibcurl.usesTLS("GnuTLS")

    static func url(_ name: String, _ path: String = "") throws -> URL {
        let address = try #require(addresses[name], "\(name) is not running")
        return try #require(URL(string: address + path))
    }

    static func file(_ name: String) throws -> URL {
        URL(filePath: try #require(addresses[name], "\(name) is not there"))
    }
}

/// Runs a test with a transport that trusts the servers' CA.
func withSecureTransport<R>(
    _ configure: (inout TransportConfiguration) throws -> Void = { _ in },
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: (CurlTransport) async throws -> R
) async throws -> R {
    var configuration = TransportConfiguration()
    configuration.proxy = .none
    configuration.tls.trustRoots = .file(try RealServers.file("CA_FILE"))
    try configure(&configuration)
    let transport = CurlTransport(configuration: configuration)
    let result = try await body(transport)
    expectNothingLeft(transport, sourceLocation)
    await transport.shutdown()
    return result
}
