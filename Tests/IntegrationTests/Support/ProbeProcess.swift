import Foundation
import Glibc

/// Runs `ExitProbe` or another command as a separate process.
struct ProbeProcess {
    struct Outcome: Sendable {
        let reason: Process.TerminationReason
        let status: Int32
        let output: String
        let errors: String
    }

    /// `ExitProbe`, which is built next to the test bundle.
    static let executable: URL = {
        let bundle = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(filePath: bundle).deletingLastPathComponent().appending(path: "ExitProbe")
    }()

    /// Runs `command`. With `terminates`, sends SIGTERM as soon as the command has printed something.
    static func run(
        _ command: URL = executable,
        arguments: [String],
        environment: [String: String] = [:],
        terminates: Bool = false
    ) async throws -> Outcome {
        let process = Process()
        process.executableURL = command
        process.arguments = arguments
        // Sanitizers' reports are meaningless for a process that ends in the middle of its work.
        process.environment = [
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "SWIFT_BACKTRACE": "enable=no",
            "ASAN_OPTIONS": "detect_leaks=0", "TSAN_OPTIONS": "report_bugs=0",
        ].merging(environment) { _, own in own }
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        let ended = AsyncStream<Void>.makeStream()
        process.terminationHandler = { _ in ended.continuation.finish() }
        try process.run()
        if terminates {
            _ = output.fileHandleForReading.availableData
            process.terminate()
        }
        let texts = [output, errors].map { pipe in
            // Foundation's `Process` retains itself and its pipes, so the descriptor is closed here.
            defer { try? pipe.fileHandleForReading.close() }
            return String(decoding: (try? pipe.fileHandleForReading.readToEnd()) ?? Data(), as: UTF8.self)
        }
        for await _ in ended.stream {}
        return Outcome(
            reason: process.terminationReason, status: process.terminationStatus, output: texts[0], errors: texts[1])
    }
}
