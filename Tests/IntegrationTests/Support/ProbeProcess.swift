import Foundation
import Glibc

/// The executable `ExitProbe`, run as a process of its own.
struct ProbeProcess {
    struct Outcome: Sendable {
        let reason: Process.TerminationReason
        let status: Int32
        let output: String
        let errors: String
    }

    /// It lies beside the test bundle.
    static let executable: URL = {
        let bundle = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(filePath: bundle).deletingLastPathComponent().appending(path: "ExitProbe")
    }()

    /// Runs `command`; `terminates` sends SIGTERM as soon as it has printed something.
    static func run(
        _ command: URL = executable,
        arguments: [String],
        environment: [String: String] = [:],
        terminates: Bool = false
    ) async throws -> Outcome {
        let process = Process()
        process.executableURL = command
        process.arguments = arguments
        // What a sanitizer says about memory at such an end means nothing.
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
            // Foundation's `Process` keeps itself, and its pipes.
            defer { try? pipe.fileHandleForReading.close() }
            return String(decoding: (try? pipe.fileHandleForReading.readToEnd()) ?? Data(), as: UTF8.self)
        }
        for await _ in ended.stream {}
        return Outcome(
            reason: process.terminationReason, status: process.terminationStatus, output: texts[0], errors: texts[1])
    }
}
