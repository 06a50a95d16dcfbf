import CurlewLocks
import Foundation
import Glibc

/// A running `FleetProbe`.
final class FleetProcess: Sendable {
    private let process = Process()
    private let output = Pipe()
    /// The bytes that are no complete line yet, and the numbers of the lines before.
    private let read = Lock((text: Data(), lines: [[Int]]()))

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
    func isReady() async -> Bool { await hasLine { _ in true } }

    /// Waits for a line whose numbers meet the condition, among those that were not read before. Returns `false` if the
    /// probe ends first.
    func hasLine(_ condition: @escaping @Sendable ([Int]) -> Bool) async -> Bool {
        await onThread { [self] in
            while let line = nextLine() {
                if condition(line) { return true }
            }
            return false
        }
    }

    /// Waits for the end of the probe. Returns the numbers of all its lines.
    func lines() async -> [[Int]] {
        _ = await hasLine { _ in false }
        return read.withLock(\.lines)
    }

    /// Reads the next line. `nil` at the end of the output.
    private func nextLine() -> [Int]? {
        var isAtEnd = false
        while true {
            let line = read.withLock { read -> [Int]? in
                guard let end = read.text.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
                let numbers = String(decoding: read.text[..<end], as: UTF8.self).split(separator: " ")
                    .compactMap { Int($0) }
                read.text = Data(read.text[(end + 1)...])
                read.lines.append(numbers)
                return numbers
            }
            if line != nil || isAtEnd { return line }
            let more = output.fileHandleForReading.availableData
            isAtEnd = more.isEmpty
            read.withLock { $0.text.append(more) }
        }
    }
}

/// Runs blocking work in a new thread, because all tests share the few threads of Swift's tasks.
private func onThread<R: Sendable>(_ work: @escaping @Sendable () -> R) async -> R {
    await withCheckedContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: work()) }
    }
}
