import Foundation
import Glibc
import Testing

/// A `redis-server` of a test's own, which can be killed and started again.
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

    private(set) var port: UInt16 = 0
    private let options: [String]
    private var process: Process?

    init(_ options: String...) throws {
        self.options = options
        // Another process may take the port in between: then the next one.
        for _ in 0..<5 {
            port = Self.freePort()
            if (try? start()) != nil { return }
        }
        throw Missing()
    }

    deinit { process.map { _ = Glibc.kill($0.processIdentifier, SIGKILL) } }

    func url(_ login: String = "") -> String { "redis://\(login)127.0.0.1:\(port)" }

    /// Starts it at its port, and returns when it answers.
    func start() throws {
        guard let executable = Self.executable else { throw Missing() }
        let process = Process()
        process.executableURL = executable
        process.arguments =
            ["--port", "\(port)", "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--logfile", "/dev/null"]
            + ["--dir", FileManager.default.temporaryDirectory.path(percentEncoded: false)] + options
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        self.process = process
        for _ in 0..<1000 where process.isRunning {
            if let descriptor = Self.connect(port) {
                close(descriptor)
                return
            }
            usleep(10_000)
        }
        throw Missing()
    }

    func kill() {
        guard let process else { return }
        Glibc.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        self.process = nil
    }

    private static func freePort() -> UInt16 {
        guard let listener = try? LoopbackListener() else { return 0 }
        return listener.port
    }

    static func connect(_ port: UInt16) -> Int32? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = loopback(port)
        let code = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard code == 0 else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    static func loopback(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return address
    }
}

/// A listening socket on loopback, at a port that the system has chosen.
final class LoopbackListener: Sendable {
    let descriptor: Int32
    let port: UInt16

    init() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = RedisProcess.loopback(0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) | listen(descriptor, 64) | getsockname(descriptor, $0, &size)
            }
        }
        self.descriptor = descriptor
        port = UInt16(bigEndian: address.sin_port)
        if code != 0 { throw POSIXError(.EADDRINUSE) }
    }

    deinit {
        shutdown(descriptor, Int32(SHUT_RDWR))
        close(descriptor)
    }
}
