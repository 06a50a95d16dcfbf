import CurlewTesting
import Dispatch
import Foundation
import Glibc

@testable import CurlewTool

/// Runs the built `curlew` with a pseudo-terminal as its controlling terminal, so that typing U+0003 there is Ctrl-C.
final class TerminalProcess: Sendable {
    struct Failure: Error {
        let step: String
    }

    /// Closes the descriptor with the last reference, which the reader may hold. If the descriptor were closed earlier,
    /// the kernel could give its number to a file of another test, and the reader would read that file.
    private final class Master: Sendable {
        let descriptor: Int32

        init(_ descriptor: Int32) { self.descriptor = descriptor }

        deinit { close(descriptor) }
    }

    private let terminal: Master
    private var master: Int32 { terminal.descriptor }
    private let ended: ToolProcess.Ended
    let pid: pid_t
    /// Whether the terminal echoed its input before the tool was started.
    let echoedAtFirst: Bool
    private let screen: Screen

    /// Collects the bytes that are written to the terminal.
    private actor Screen {
        private(set) var bytes: [UInt8] = []
        private var waiters: [(text: String, continuation: CheckedContinuation<Void, Never>)] = []
        private var hasEnded = false

        func add(_ piece: [UInt8]) {
            bytes += piece
            let text = String(decoding: bytes, as: UTF8.self)
            waiters.removeAll { waiter in
                guard text.contains(waiter.text) else { return false }
                waiter.continuation.resume()
                return true
            }
        }

        func end() {
            hasEnded = true
            for waiter in waiters { waiter.continuation.resume() }
            waiters = []
        }

        /// Returns when `text` has been written, or when the output has ended.
        func wait(for text: String) async {
            await withCheckedContinuation { continuation in
                if hasEnded || String(decoding: bytes, as: UTF8.self).contains(text) { return continuation.resume() }
                waiters.append((text, continuation))
            }
        }

        func all() async -> String {
            // A text that is never written, so this waits for the end of the output.
            await wait(for: "\u{0}never")
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    init(_ tool: ToolProcess, columns: Int = 80, rows: Int = 24) throws {
        // Swift's Glibc lacks posix_openpt(3), unlockpt(3) and ptsname(3); these calls do the same (see pty(7)).
        let master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        let (unlock, getNumber): (UInt, UInt) = (0x4004_5431, 0x8004_5430)
        var (locked, number): (Int32, Int32) = (0, 0)
        guard master >= 0, ioctl(master, unlock, &locked) == 0, ioctl(master, getNumber, &number) == 0 else {
            throw Failure(step: "open /dev/ptmx")
        }
        let terminal = Master(master)
        self.terminal = terminal
        Self.resize(master, columns: columns, rows: rows)
        let path = "/dev/pts/\(number)"
        let slave = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard slave >= 0 else { throw Failure(step: "open \(path)") }
        let process = Process()
        // setsid(1) makes the pseudo-terminal the controlling one; posix_spawn(3) has no such option.
        process.executableURL = URL(filePath: "/usr/bin/setsid")
        process.arguments = ["--ctty", "--wait", ToolProcess.executable.path] + tool.arguments
        process.environment = tool.fullEnvironment
        if let folder = tool.folder { process.currentDirectoryURL = folder }
        let handle = FileHandle(fileDescriptor: slave, closeOnDealloc: true)
        process.standardInput = handle
        process.standardOutput = handle
        process.standardError = handle
        ended = ToolProcess.Ended(process)
        let screen = Screen()
        self.screen = screen
        echoedAtFirst = Self.echoes(master)
        try process.run()
        pid = process.processIdentifier
        try handle.close()
        let (pieces, feed) = AsyncStream<[UInt8]>.makeStream()
        DispatchQueue.global().async {
            // The read fails once the last descriptor of the other side is closed.
            while let piece = try? InputFile.readPiece(terminal.descriptor) { feed.yield(piece) }
            feed.finish()
        }
        Task {
            for await piece in pieces { await screen.add(piece) }
            await screen.end()
        }
    }

    deinit {
        // A tool that a test left running gets SIGHUP, as if the terminal's window were closed. The reader ends when
        // the tool exits.
        let group = tcgetpgrp(master)
        if group > 0 { kill(-group, SIGHUP) }
    }

    func type(_ text: String) { try? OutputFile(descriptor: master).write(text) }

    func resize(columns: Int, rows: Int) { Self.resize(master, columns: columns, rows: rows) }

    /// Whether the terminal echoes its input.
    var echoes: Bool { Self.echoes(master) }

    private static func echoes(_ descriptor: Int32) -> Bool {
        var settings = termios()
        return tcgetattr(descriptor, &settings) == 0 && settings.c_lflag & tcflag_t(ECHO) != 0
    }

    func wait(for text: String) async { await screen.wait(for: text) }

    /// Returns everything that was written to the terminal, and the exit status. Kills the tool after `limit`.
    func finish(limit: Duration = Duration.seconds(120).asTestBound) async -> (screen: String, status: Int32) {
        let (pid, terminal) = (pid, terminal)
        let watchdog = Task {
            try await Task.sleep(for: limit)
            // setsid(1) runs the tool in a new session. If only setsid(1) were killed, the tool would keep the terminal
            // open.
            let group = tcgetpgrp(terminal.descriptor)
            if group > 0 { kill(-group, SIGKILL) }
            kill(pid, SIGKILL)
        }
        defer { watchdog.cancel() }
        let status = await ended.status()
        return (await screen.all(), status)
    }

    private static func resize(_ descriptor: Int32, columns: Int, rows: Int) {
        var size = winsize(ws_row: UInt16(rows), ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(descriptor, UInt(TIOCSWINSZ), &size)
    }
}
