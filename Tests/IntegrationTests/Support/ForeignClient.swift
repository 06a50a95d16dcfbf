import Foundation
import Testing

/// The commands of other projects that are HTTP/2 clients.
enum ForeignClient: String, CaseIterable {
    case curl, nghttp, h2load, openssl

    private static let folders = ["/usr/bin", "/usr/local/bin", "/bin"]

    struct Missing: Error, CustomStringConvertible {
        let description: String
    }

    var executable: URL? {
        Self.folders.map { URL(filePath: $0).appending(path: rawValue) }
            .first { FileManager.default.isExecutableFile(atPath: $0.path) }
    }

    static var areInstalled: Bool { allCases.allSatisfy { $0.executable != nil } }

    func run(_ arguments: String...) async throws -> ProbeProcess.Outcome { try await run(arguments) }

    func run(_ arguments: [String]) async throws -> ProbeProcess.Outcome {
        guard let executable else {
            throw Missing(description: "\(rawValue) is not installed: scripts/packages servers")
        }
        return try await ProbeProcess.run(executable, arguments: arguments)
    }
}

extension Trait where Self == ConditionTrait {
    /// Enables a test if the clients of other projects are installed. In CI it runs in any case, and fails if they are
    /// missing.
    static var foreignClients: Self {
        .enabled(
            if: ForeignClient.areInstalled || IntegrationEnvironment.isContinuousIntegration,
            "curl, nghttp, h2load or openssl is missing: run scripts/packages servers"
        )
    }
}
