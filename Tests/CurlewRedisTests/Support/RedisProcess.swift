import Foundation
import Glibc
import Testing

/// A `redis-server` of a test's own, which can be killed and started again.
///
/// It listens at a socket file that no other process knows. Stores reach it over TCP through a relay in this process, whose
/// port is the relay's from the beginning to the end: a port that was only found free might be another program's by the time
/// that the server begins to listen.
final class RedisProcess: @unchecked Sendable {  // SAFETY: used by one test, which waits for each call.
    struct Missing: Error, CustomStringConvertible {
        let description = "redis-server is missing: run scripts/packages servers"
    }

    private static let executable: URL? = ["/usr/bin", "/usr/sbin", "/usr/local/bin"]
        .map { URL(filePath: $0 + "/redis-server") }
        .first { FileManager.default.isExecutableFile(atPath: $0.path(percentEncoded: false)) }

    /// Without the server these tests are skipped, but never in CI.
    static var shouldRun: Bool {
        executable != nil || ProcessInfo.processInfo.environment["CI"] == "true"
    }

    /// Where the server listens.
    let socket: SocketFile
    private let relay: FaultyRedis
    private let options: [String]
    private var process: Process?

    init(_ options: String...) async throws {
        self.options = options
        socket = SocketFile()
        relay = try FaultyRedis(server: socket, .delay(.zero))
        try await start()
    }

    // Foundation waits for the process's end.
    deinit { signalEnd() }

    func url(_ login: String = "") -> String { relay.url(login) }

    /// Starts it, and returns when it answers.
    func start() async throws {
        guard let executable = Self.executable else { throw Missing() }
        let process = Process()
        process.executableURL = executable
        process.arguments =
            ["--port", "0", "--unixsocket", socket.path, "--save", "", "--appendonly", "no", "--logfile", "/dev/null"]
            + ["--dir", FileManager.default.temporaryDirectory.path(percentEncoded: false)] + options
        process.standardOutput = FileHandle.nullDevice
        self.process = process
        try await onThread { [self] in
            try process.run()
            for _ in 0..<1000 where process.isRunning {
                if socket.connection() != nil { return }
                usleep(10_000)
            }
            throw Missing()
        }
    }

    func kill() async throws {
        signalEnd()
        guard let process else { return }
        self.process = nil
        try await onThread { process.waitUntilExit() }
    }

    private func signalEnd() {
        if let process, process.isRunning { Glibc.kill(process.processIdentifier, SIGKILL) }
    }
}

/// Does what waits in a thread of its own: the few threads of Swift's tasks are for all tests together.
private func onThread(_ work: @escaping @Sendable () throws -> Void) async throws {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try work() }) }
    }
}
