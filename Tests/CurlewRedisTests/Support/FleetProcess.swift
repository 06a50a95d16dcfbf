import Foundation
import Glibc

/// A running `FleetProbe`.
final class FleetProcess: Sendable {
    private let process = Process()
    private let output = Pipe()

    /// `FleetProbe`, which is built next to the test bundle.
    private static let executable: URL = {
        let bundle = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(filePath: bundle).deletingLastPathComponent().appending(path: "FleetProbe")
    }()

    init(_ arguments: String...) throws {
        process.executableURL = Self.executable
        process.arguments = arguments
        process.environment = [
            "SWIFT_BACKTRACE": "enable=no", "ASAN_OPTIONS": "detect_leaks=0", "TSAN_OPTIONS": "report_bugs=0",
        ]
        process.standardOutput = output
        try process.run()
    }

    deinit {
        if process.isRunning { Glibc.kill(process.processIdentifier, SIGKILL) }
        // Foundation's `Process` retains itself and its pipe, so the descriptor is closed here.
        try? output.fileHandleForReading.close()
    }

    /// Waits until the probe's clock begins. Returns `false` if it ends before.
    func isReady() async -> Bool {
        await onThread { [self] in
            var text = Data()
            while !text.contains(10) {
                let more = output.fileHandleForReading.availableData
                if more.isEmpty { return false }
                text.append(more)
            }
            return true
        }
    }

    /// Waits for the end of the probe. Returns the numbers of the lines that it has printed since it was ready.
    func rest() async -> [[Int]] {
        await onThread { [self] in
            let data = (try? output.fileHandleForReading.readToEnd()) ?? Data()
            return String(decoding: data, as: UTF8.self).split(separator: "\n").map { line in
                line.split(separator: " ").compactMap { Int($0) }
            }
        }
    }
}

/// Runs blocking work in a new thread, because all tests share the few threads of Swift's tasks.
private func onThread<R: Sendable>(_ work: @escaping @Sendable () -> R) async -> R {
    await withCheckedContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: work()) }
    }
}
