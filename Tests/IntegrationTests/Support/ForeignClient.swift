import Foundation
import Testing

/// HTTP/2 clients of other projects, as commands.
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
    /// Runs with the clients of other projects; skipped where they are missing, failing where CI forgot them.
    static var foreignClients: Self {
        .enabled(
            if: ForeignClient.areInstalled || IntegrationEnvironment.isContinuousIntegration,
            "curl, nghttp, h2load or openssl is missing: run scripts/packages servers"
        )
    }
}
