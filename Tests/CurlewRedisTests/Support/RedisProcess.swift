import CurlewRedis
import Foundation
import Glibc
import StoreSupport
import Testing

/// A `redis-server` for one test, which can be killed and started again. It listens at a socket file that no other
/// process knows. Stores reach it over TCP through a relay in this process, which keeps its port from the beginning to
/// the end. If the server itself used a port that was found free, another program might take that port before the
/// server listens.
final class RedisProcess: @unchecked Sendable {  // SAFETY: used by one test, which waits for each call.
    struct Missing: Error, CustomStringConvertible {
        let description = "redis-server is missing: run scripts/packages servers"
    }

    private static let executable: URL? = ["/usr/bin", "/usr/sbin", "/usr/local/bin"]
        .map { URL(filePath: $0 + "/redis-server") }
        .first { FileManager.default.isExecutableFile(atPath: $0.path(percentEncoded: false)) }

    /// Whether the tests run. Without a `redis-server` they are skipped, except in CI, where they fail.
    static var shouldRun: Bool {
        executable != nil || ProcessInfo.processInfo.environment["CI"] == "true"
    }

    /// The socket file at which the server listens.
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

    // Foundation reaps the process after its end.
    deinit { signalEnd() }

    func url(_ login: String = "") -> String { relay.url(login) }

    /// Starts the server, and returns once it answers.
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

/// Runs blocking work in a new thread, because all tests share the few threads of Swift's tasks.
private func onThread(_ work: @escaping @Sendable () throws -> Void) async throws {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try work() }) }
    }
}

/// Makes entries with the current date, because the server expires their keys in real time.
let entry = EntryMaker { Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded(.down)) }

extension RedisClaimTimes {
    /// Times with which claims and their marks outlive a test, even on a slow machine that runs many tests.
    static var minutes: RedisClaimTimes {
        var times = RedisClaimTimes()
        (times.claim, times.stored, times.useless) = (.seconds(120), .seconds(120), .seconds(120))
        return times
    }
}
