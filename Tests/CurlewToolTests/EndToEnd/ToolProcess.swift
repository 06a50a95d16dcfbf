import CurlewTesting
import Dispatch
import Foundation
import Glibc

/// Runs the built `curlew` as a shell would.
struct ToolProcess {
    struct Outcome: Sendable {
        let status: Int32
        let output: Data
        let errors: String

        var text: String { String(decoding: output, as: UTF8.self) }
        var lines: [String] { text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) }
    }

    struct NotFound: Error {}

    /// The tool, which is built next to the test bundle.
    static let executable = built("curlew")

    /// The URL of a program of this package.
    static func built(_ name: String) -> URL {
        let bundle = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(filePath: bundle).deletingLastPathComponent().appending(path: name)
    }

    var program = ToolProcess.executable

    var arguments: [String]
    var input: Data?
    /// Replaces `input` with a pipe that stays open until the test closes it.
    var inputPipe: Pipe?
    var environment: [String: String] = [:]
    var folder: URL?

    init(_ arguments: String..., input: String? = nil) {
        self.arguments = arguments
        self.input = input.map { Data($0.utf8) }
    }

    /// The variables of the sanitizers, of the coverage profile, and of the preloaded library that makes sockets fail.
    private static let examiners = [
        "ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS", "LLVM_PROFILE_FILE", "LD_PRELOAD", "CURLEW_FAULT_MODE",
        "SWIFT_BACKTRACE",
    ]

    /// A fixed environment, so that variables of the machine have no effect on a test.
    var fullEnvironment: [String: String] {
        var all = ["PATH": "/usr/bin:/bin", "HOME": folder?.path ?? "/nonexistent", "LANG": "C.UTF-8", "TERM": "xterm"]
        // The sanitizers and the coverage profile of the tests apply to the tool, with the same settings.
        for name in Self.examiners {
            all[name] = ProcessInfo.processInfo.environment[name]
        }
        all.merge(environment) { $1 }
        return all
    }

    /// Runs the tool with pipes, and kills it after `limit`.
    func run(
        limit: Duration = Duration.seconds(120).asTestBound, while running: ((pid_t) async throws -> Void)? = nil
    ) async throws -> Outcome {
        let process = Process()
        process.executableURL = program
        process.arguments = arguments
        process.environment = fullEnvironment
        if let folder { process.currentDirectoryURL = folder }
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        if let inputPipe {
            process.standardInput = inputPipe
        } else if let input {
            let pipe = Pipe()
            process.standardInput = pipe
            DispatchQueue.global().async {
                try? pipe.send(input)
                try? pipe.fileHandleForWriting.close()
            }
        } else {
            process.standardInput = FileHandle.nullDevice
        }
        let ended = Ended(process)
        try process.run()
        async let outputData = Self.read(output)
        async let errorData = Self.read(errors)
        let pid = process.processIdentifier
        let watchdog = Task {
            try await Task.sleep(for: limit)
            kill(pid, SIGKILL)
        }
        defer { watchdog.cancel() }
        do {
            try await running?(pid)
        } catch {
            kill(pid, SIGKILL)
            throw error
        }
        let status = await ended.status()
        return Outcome(
            status: status, output: await outputData, errors: String(decoding: await errorData, as: UTF8.self))
    }

    private static func read(_ pipe: Pipe) async -> Data {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                let data = (try? pipe.fileHandleForReading.readToEnd()) ?? Data()
                // Foundation's `Process` retains itself and its pipes, so the descriptor is closed here.
                try? pipe.fileHandleForReading.close()
                continuation.resume(returning: data)
            }
        }
    }

    /// The exit status of a process, as a value to await.
    final class Ended: Sendable {
        private let stream: AsyncStream<Int32>

        init(_ process: Process) {
            let (stream, continuation) = AsyncStream<Int32>.makeStream()
            self.stream = stream
            process.terminationHandler = { process in
                let isSignal = process.terminationReason == .uncaughtSignal
                continuation.yield(process.terminationStatus + (isSignal ? 128 : 0))
                continuation.finish()
            }
        }

        func status() async -> Int32 {
            for await status in stream { return status }
            return -1
        }
    }
}

extension Pipe {
    /// Writes the tool's input. Throws (`EPIPE`) if the tool has already ended; the SIGPIPE of such a write is blocked,
    /// because it would end the process that runs all tests.
    func send(_ data: Data) throws {
        var broken = sigset_t()
        var before = sigset_t()
        sigemptyset(&broken)
        sigaddset(&broken, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &broken, &before)
        defer {
            // The kernel sends SIGPIPE to the thread that wrote. A pending one is consumed before the mask is restored.
            var noTime = timespec()
            sigtimedwait(&broken, nil, &noTime)
            pthread_sigmask(SIG_SETMASK, &before, nil)
        }
        try fileHandleForWriting.write(contentsOf: data)
    }
}
