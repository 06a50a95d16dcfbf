internal import Foundation

/// A descriptor for output. Writes are complete and not buffered.
struct OutputFile: Sendable {
    /// A failed read or write, for example because the reader of a pipe has gone or the disk is full.
    struct Failure: Error, Equatable {
        let code: Int32

        var isBrokenPipe: Bool { code == EPIPE }

        var text: String { String(cString: strerror(code)) }
    }

    let descriptor: Int32

    static let standardOutput = OutputFile(descriptor: STDOUT_FILENO)
    static let standardError = OutputFile(descriptor: STDERR_FILENO)

    func write(_ text: String) throws(Failure) { try write(Array(text.utf8)) }

    func write(_ bytes: [UInt8]) throws(Failure) {
        var offset = 0
        while offset < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                Foundation.write(descriptor, buffer.baseAddress.map { $0 + offset }, buffer.count - offset)
            }
            if count > 0 {
                offset += count
            } else if errno == EAGAIN {
                // Another program has made the terminal non-blocking. Wait until it accepts more.
                var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = Foundation.poll(&poll, 1, -1)
            } else if errno != EINTR {
                throw Failure(code: errno)
            }
        }
    }
}

/// The destination of a request's output: standard output, or the file of `--output`.
///
/// An existing file is emptied only by `begin`, which is called when a response has arrived, so a failed request does
/// not change it. A path that cannot be written is detected before the request is sent.
struct OutputDestination: Sendable {
    private enum Kind: Sendable {
        case opened(OutputFile)
        /// The path exists and is open for writing.
        case existing(OutputFile)
        case missing(path: String)
    }

    private let kind: Kind

    init(path: String?, otherwise output: OutputFile) throws(UsageError) {
        guard let path else {
            kind = .opened(output)
            return
        }
        let expanded = InputFile.expanded(path)
        let descriptor = open(expanded, O_WRONLY | O_CLOEXEC)
        if descriptor >= 0 {
            kind = .existing(OutputFile(descriptor: descriptor))
            return
        }
        let failure = errno == ENOENT ? Self.obstacle(toCreating: expanded) : OutputFile.Failure(code: errno)
        if let failure { throw UsageError("cannot write \(path): \(failure.text)") }
        kind = .missing(path: expanded)
    }

    /// The output, if writing to it at once cannot lose anything. `nil` if only `begin` may create or empty the file.
    var opened: OutputFile? {
        switch kind {
        case .opened(let output): output
        case .existing, .missing: nil
        }
    }

    /// Empties or creates the file, and returns the output.
    func begin() throws(OutputFile.Failure) -> OutputFile {
        switch kind {
        case .opened(let output): return output
        case .existing(let output):
            // Pipes and devices cannot be truncated.
            if ftruncate(output.descriptor, 0) != 0, errno != EINVAL { throw OutputFile.Failure(code: errno) }
            return output
        case .missing(let path):
            let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
            guard descriptor >= 0 else { throw OutputFile.Failure(code: errno) }
            return OutputFile(descriptor: descriptor)
        }
    }

    /// Returns the reason that no file can be created at this path. `nil` if there is none.
    private static func obstacle(toCreating path: String) -> OutputFile.Failure? {
        guard !path.isEmpty else { return OutputFile.Failure(code: ENOENT) }
        guard !path.hasSuffix("/") else { return OutputFile.Failure(code: EISDIR) }
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        return access(folder, W_OK | X_OK) == 0 ? nil : OutputFile.Failure(code: errno)
    }

    /// Throws if a download cannot be moved to this path. The final rename would replace a pipe, a device or a link
    /// with a file: `/dev/null` or `/dev/stdout`, if root runs the command.
    static func expectDownload(to path: String) throws(UsageError) {
        let expanded = InputFile.expanded(path)
        var info = stat()
        let kind = lstat(expanded, &info) == 0 ? info.st_mode & S_IFMT : S_IFREG
        if kind != S_IFREG, kind != S_IFDIR {
            throw UsageError(
                "a download cannot replace \(path), which is no regular file",
                hint: "without --download, --output=\(path) writes to it")
        }
        let failure = kind == S_IFDIR ? OutputFile.Failure(code: EISDIR) : obstacle(toCreating: expanded)
        if let failure { throw UsageError("cannot write \(path): \(failure.text)") }
    }
}

/// Writes files that contain secrets: only their owner can read them from the first moment, and they are replaced in
/// one step.
enum PrivateFile {
    static func replace(_ path: String, with bytes: [UInt8]) throws(OutputFile.Failure) {
        // Other users may be able to write to the folder, so the temporary name cannot be guessed and must not exist
        // yet. It is not derived from the file's name, because a long name would then become too long.
        let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
        let temporary = "\(folder).curlew-\(UUID().uuidString.lowercased())"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw OutputFile.Failure(code: errno) }
        do throws(OutputFile.Failure) {
            defer { close(descriptor) }
            try OutputFile(descriptor: descriptor).write(bytes)
        } catch {
            unlink(temporary)
            throw error
        }
        guard rename(temporary, path) == 0 else {
            let failure = OutputFile.Failure(code: errno)
            unlink(temporary)
            throw failure
        }
    }
}
