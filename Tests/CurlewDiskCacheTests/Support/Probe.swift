import Foundation
import Glibc

/// A running `StoreProbe`.
final class Probe: Sendable {
    private let process = Process()
    private let output = Pipe()
    private let errors = Pipe()
    private let ended: AsyncStream<Void>

    /// `StoreProbe`, which is built next to the test bundle.
    private static let executable: URL = {
        let bundle = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(filePath: bundle).deletingLastPathComponent().appending(path: "StoreProbe")
    }()

    init(_ arguments: String...) throws {
        let ended = AsyncStream<Void>.makeStream()
        self.ended = ended.stream
        process.executableURL = Self.executable
        process.arguments = arguments
        process.environment = [
            "SWIFT_BACKTRACE": "enable=no", "ASAN_OPTIONS": "detect_leaks=0", "TSAN_OPTIONS": "report_bugs=0",
        ]
        process.standardOutput = output
        process.standardError = errors
        process.terminationHandler = { _ in ended.continuation.finish() }
        try process.run()
    }

    deinit {
        // Foundation's `Process` retains itself and its pipes, so the descriptors are closed here.
        for pipe in [output, errors] { try? pipe.fileHandleForReading.close() }
    }

    /// Waits until the probe has printed `count` lines, and returns the numbers in them.
    func lines(_ count: Int) async -> [Int] { await inOwnThread { [self] in read(count) } }

    private func read(_ count: Int) -> [Int] {
        var text = Data()
        while text.count(where: { $0 == 10 }) < count {
            let more = output.fileHandleForReading.availableData
            if more.isEmpty { break }
            text.append(more)
        }
        let whole = text[..<(text.lastIndex(of: 10) ?? text.startIndex)]
        return String(decoding: whole, as: UTF8.self).split(separator: "\n").compactMap { Int($0) }
    }

    func kill() async {
        Glibc.kill(process.processIdentifier, SIGKILL)
        for await _ in ended {}
    }

    /// Waits for the end of the probe, and returns what it has written to standard error.
    func complaints() async -> String { await rest(of: errors) }

    /// Waits for the end of the probe, and returns what it has printed.
    func result() async -> String {
        let text = await rest(of: output)
        for await _ in ended {}
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private func rest(of pipe: Pipe) async -> String {
        let file = pipe.fileHandleForReading
        return String(decoding: await inOwnThread { (try? file.readToEnd()) ?? Data() }, as: UTF8.self)
    }
}
