internal import Curlew
internal import CurlewTesting
internal import Foundation

/// The environment of the steps: the server, a folder, and the output.
struct Stage: Sendable {
    let server: TestServer
    let folder: URL
    /// The bytes that are uploaded and downloaded again.
    let cargo = TestServer.patternBytes(count: 4 << 20)

    private let isTerminal = isatty(STDOUT_FILENO) == 1

    init() throws {
        server = try TestServer()
        folder = FileManager.default.temporaryDirectory.appending(
            path: "curlew-demo-\(ProcessInfo.processInfo.processIdentifier)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    func title(_ text: String) { write("\n\(styled("1", text))\n") }

    func code(_ line: String) { write("   \(styled("36", "│ \(line)"))\n") }

    func say(_ text: String) { write("   \(text)\n") }

    func failed(_ text: String) { write("   \(styled("1;31", "✗ \(text)"))\n") }

    func worked(_ text: String) { write("   \(styled("32", "✓")) \(text)\n") }

    /// Updates a progress bar in place; if the output is not a terminal, prints one line for each quarter.
    func bar(_ fraction: Double, last: inout Int) {
        let percent = Int(fraction * 100)
        if isTerminal {
            let filled = Int(fraction * 40)
            let bar = String(repeating: "━", count: filled) + String(repeating: "─", count: 40 - filled)
            write("\r   \(styled("32", bar)) \(percent)%" + (fraction >= 1 ? "\n" : ""))
        } else if percent / 25 > last {
            say("\(percent)%")
        }
        last = percent / 25
    }

    func end(failures: [String], of count: Int, after time: Duration) {
        try? FileManager.default.removeItem(at: folder)
        server.stop()
        let seconds = Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18
        let took = String(format: "%.1f", seconds)
        write("\n")
        if failures.isEmpty {
            worked("all \(count) steps worked, in \(took) s")
        } else {
            failed("\(failures.count) of \(count) steps failed: \(failures.joined(separator: ", "))")
        }
    }

    private func styled(_ code: String, _ text: String) -> String {
        isTerminal ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }

    /// Ignores errors: the demo continues if the output's reader, such as `head`, has exited.
    private func write(_ text: String) { try? FileHandle.standardOutput.write(contentsOf: Data(text.utf8)) }
}
