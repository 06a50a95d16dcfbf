internal import Foundation

/// The properties of the terminal that the tool may be writing to.
struct Terminal: Sendable, Equatable {
    let isInput: Bool
    let isOutput: Bool
    let isError: Bool
    let hasUnicode: Bool
    let noColor: Bool

    static func current(environment: [String: String]) -> Terminal {
        let isDumb = environment["TERM"] == "dumb"
        return Terminal(
            isInput: isatty(STDIN_FILENO) == 1,
            isOutput: isatty(STDOUT_FILENO) == 1,
            isError: isatty(STDERR_FILENO) == 1 && !isDumb,
            hasUnicode: hasUnicode(environment),
            noColor: environment["NO_COLOR"]?.isEmpty == false || isDumb
        )
    }

    /// Whether the locale is UTF-8. Of its variables, the first one that is set decides.
    static func hasUnicode(_ environment: [String: String]) -> Bool {
        let names = ["LC_ALL", "LC_CTYPE", "LANG"]
        let locale = names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty } ?? ""
        let text = locale.lowercased()
        return text.contains("utf-8") || text.contains("utf8")
    }

    /// Returns the current columns and rows, or 80 and 24 if there is no terminal. The window may be resized between
    /// calls.
    static func size(of descriptor: Int32) -> (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
        return (Int(size.ws_col), Int(size.ws_row))
    }
}

/// Asks for a password on the terminal, without echoing it.
enum PasswordPrompt {
    static func ask(for user: String, host: String) throws(UsageError) -> String {
        let descriptor = open("/dev/tty", O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw UsageError("--auth: no password, and no terminal to ask for it", hint: "Write '\(user):PASSWORD'.")
        }
        defer { close(descriptor) }
        let tty = OutputFile(descriptor: descriptor)
        var before = termios()
        tcgetattr(descriptor, &before)
        var silent = before
        silent.c_lflag &= ~tcflag_t(ECHO | ISIG)
        // Ctrl-C is read as a byte that ends the line. A signal would end the command and leave the terminal without
        // its echo.
        let interrupt = withUnsafeMutableBytes(of: &silent.c_cc) { keys in
            keys[Int(VEOL)] = keys[Int(VINTR)]
            return keys[Int(VINTR)]
        }
        // Set before the prompt is shown, because the flush would discard the first characters typed after it.
        tcsetattr(descriptor, TCSAFLUSH, &silent)
        try? tty.write("curlew: password for \(user)@\(host): ")
        func restore() {
            tcsetattr(descriptor, TCSAFLUSH, &before)
            try? tty.write("\n")
        }
        var line: [UInt8] = []
        while let piece = try? InputFile.readPiece(descriptor, limit: 1), let byte = piece.first, byte != 0x0A {
            // Zero means that no key is assigned.
            if byte == interrupt, byte != 0 {
                restore()
                _exit(ExitStatus.interrupted.rawValue)
            }
            line.append(byte)
        }
        restore()
        return String(decoding: line, as: UTF8.self)
    }
}

/// Protects a command that is started with closed standard descriptors, as by `2>&-`.
enum StandardDescriptors {
    /// Opens `/dev/null` for each closed descriptor, in the direction that is not used, so that reads and writes still
    /// fail. Otherwise the next file or socket would get the number, and messages would be written into it.
    static func occupy() {
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO]
        where fcntl(descriptor, F_GETFD) == -1 && errno == EBADF {
            // `open` returns the lowest free number, which is this one.
            _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }
}
