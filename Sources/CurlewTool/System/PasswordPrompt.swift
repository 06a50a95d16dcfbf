internal import Foundation

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
