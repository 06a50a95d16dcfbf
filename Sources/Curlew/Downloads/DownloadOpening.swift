public import CurlewCore
internal import CurlewLocks
internal import Foundation

extension DownloadRequest {
    /// Demands that the file has this checksum, in hexadecimal digits.
    ///
    ///     try await session.download(url, to: destination).checksum(.sha256, "9f86d0…").file()
    ///
    /// The checksum is computed while the bytes are written, and for a resumed download also over the earlier ones. A
    /// file with another checksum is `.validationFailed` and is never moved to its destination. Of several checksums,
    /// all must match.
    @discardableResult
    public func checksum(_ algorithm: ChecksumAlgorithm, _ hexadecimal: String) -> Self {
        let checksum = Checksum(algorithm, hex: hexadecimal)
        download.withLock { record in
            if let checksum {
                record.checksums.append(checksum)
            } else {
                record.configurationError = CurlewError(
                    .requestCreationFailed,
                    phase: .creation,
                    reason: "a \(algorithm.rawValue) checksum has \(algorithm.byteCount * 2) hexadecimal digits"
                )
            }
        }
        return self
    }
}

/// The meaning of a response's body for the file of its download.
enum DownloadStep: Sendable {
    /// The body is the file, from its first byte.
    case wholeFile
    /// The body continues the part of an earlier exchange.
    case rest(of: ResumeData, at: Int64)
    /// The body is a segment of the file: of a new file if there is no part.
    case segment(Int, SegmentProgress, of: ResumeData?)
    /// The file was complete before, and the body is an error page.
    case alreadyComplete(ResumeData)
    /// The body is an error page, and is written to a separate file. The part is kept for another attempt.
    case errorPage
}

/// The open file of one exchange of a download, and its destination.
struct OpenedDownload: Sendable {
    struct Target: Sendable {
        let url: URL
        let options: DownloadRequest.Options
    }

    let file: TemporaryFile
    let target: Target?
    let step: DownloadStep
    let digests: [(expected: Checksum, digest: Digest)]
    /// Directories that were created for the file.
    let madeDirectories: [String]

    /// Whether the file is an error page beside the part, which stays.
    var isErrorPage: Bool { if case .errorPage = step { true } else { false } }

    /// Without a destination the file stays in its temporary directory, under a name that mentions Curlew.
    var destination: Target {
        if let target { return target }
        let name = file.url.lastPathComponent.drop { $0 == "." }
        let url = file.url.deletingLastPathComponent().appending(path: "Curlew_" + name, directoryHint: .notDirectory)
        return Target(url: url, options: [])
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(CurlewError) {
        try file.write(bytes, at: offset)
        // Segments arrive in no order, so they are hashed when the file is complete.
        if case .segment = step { return }
        for (_, digest) in digests { digest.update(bytes) }
    }

    /// Removes the file and its new directories.
    func discard() {
        file.discard()
        DestinationDirectory.removeIfEmpty(madeDirectories)
    }

    /// Compares the checksums. Call it once, before `move()`: it finishes the digests.
    func verify(unless isCancelled: () -> Bool) throws(CurlewError) {
        if case .segment(_, let progress, _) = step {
            try file.hash(upTo: progress.current.total, into: digests, unless: isCancelled)
        }
        for (expected, digest) in digests {
            let found = digest.finish()
            guard found != expected.bytes else { continue }
            throw CurlewError(
                .validationFailed,
                phase: .validation,
                reason: "the file's \(expected.algorithm.rawValue) is \(Checksum.hex(found)), "
                    + "not \(Checksum.hex(expected.bytes))"
            )
        }
    }

    func move() throws(CurlewError) -> URL {
        let destination = destination
        do throws(CurlewError) {
            try file.move(to: destination.url, options: destination.options, keepsPrivate: target == nil)
        } catch {
            DestinationDirectory.removeIfEmpty(madeDirectories)
            throw .fileNotMoved(error, from: file.url, to: destination.url)
        }
        return destination.url
    }
}

extension TemporaryFile {
    /// Gives the file its final permissions and name. If that fails, the file is removed.
    ///
    /// With `keepsPrivate` the file stays readable by this user only, because the user chose no destination.
    func move(
        to destination: URL,
        options: DownloadRequest.Options,
        keepsPrivate: Bool = false
    ) throws(CurlewError) {
        let path = destination.path(percentEncoded: false)
        try place { file throws(CurlewError) in
            if options.contains(.createIntermediateDirectories) {
                _ = try DestinationDirectory.create(FileMove.parent(of: path))
            }
            if !keepsPrivate { try file.setPermissions(FilePermissions.ofNewFile()) }
            if options.contains(.synchronize) { try file.synchronize() }
            try FileMove.move(file, to: path, replacing: options.contains(.removePreviousFile))
        }
    }
}

/// Opens the file for a response's body. Called on a file lane, because it calls user code and blocks.
struct DownloadOpening: Sendable {
    let step: DownloadStep
    let response: LazyResponse
    let destination: DownloadRequest.Destination?
    let checksums: [Checksum]
    /// Hashing an existing part can take long, and ends early if this is true.
    let isCancelled: @Sendable () -> Bool

    /// Thrown if the file of an earlier exchange cannot be continued, because it is missing, too short or in use. The
    /// download then starts over.
    struct PartIsGone: Error {}

    func open() throws -> OpenedDownload {
        switch step {
        case .wholeFile, .errorPage, .segment(_, _, of: nil):
            let target = target(proposing: URL(filePath: TemporaryName.make(in: DestinationDirectory.temporary)))
            return try opened(for: target, hashing: 0) { () throws(CurlewError) in
                try TemporaryFile.create(in: DestinationDirectory.forTemporaryFile(beside: target?.url))
            }
        case .rest(let part, let offset): return try reopen(part, hashing: offset)
        case .segment(_, _, of: let part?): return try reopen(part, hashing: 0)
        case .alreadyComplete(let part): return try reopen(part, hashing: part.bytesWritten)
        }
    }

    private func reopen(_ part: ResumeData, hashing count: Int64) throws -> OpenedDownload {
        guard let file = TemporaryFile.reopen(part.file, keeping: part.lengthOfFile) else { throw PartIsGone() }
        do {
            return try opened(for: target(proposing: file.url), hashing: count) { file }
        } catch {
            // The destination is not usable, the part could not be read, or the request was cancelled. Another attempt
            // may need the part.
            file.keep()
            throw error
        }
    }

    /// Prepares the destination, gets the file, and hashes its first `count` bytes. If the file cannot be used, removes
    /// the directories that were created for it.
    private func opened(
        for target: OpenedDownload.Target?,
        hashing count: Int64,
        _ makeFile: () throws(CurlewError) -> TemporaryFile
    ) throws(CurlewError) -> OpenedDownload {
        let made = try prepare(target)
        do throws(CurlewError) {
            let file = try makeFile()
            return OpenedDownload(
                file: file,
                target: target,
                step: step,
                digests: try digests(of: file, upTo: count),
                madeDirectories: made
            )
        } catch {
            DestinationDirectory.removeIfEmpty(made)
            throw error
        }
    }

    private func target(proposing url: URL) -> OpenedDownload.Target? {
        guard let destination, let lifted = response.value else { return nil }
        let (chosen, options) = destination(url, lifted)
        // The temporary URL means that the file stays in its place.
        return chosen == url ? nil : OpenedDownload.Target(url: chosen, options: options)
    }

    /// Finds, before the first byte of a successful response, the errors that would make the final move fail. Returns
    /// the directories that it has created.
    private func prepare(_ target: OpenedDownload.Target?) throws(CurlewError) -> [String] {
        guard let target, response.head.status >= 200, response.head.status < 300 else { return [] }
        let path = target.url.path(percentEncoded: false)
        do throws(CurlewError) {
            if !target.options.contains(.removePreviousFile), FileMove.exists(path) {
                throw FileFailure.error(EEXIST, "moving the download to", path)
            }
            if FileMove.isDirectoryItself(path) { throw FileFailure.directoryInTheWay(path) }
            let parent = FileMove.parent(of: path)
            if target.options.contains(.createIntermediateDirectories) {
                return try DestinationDirectory.create(parent)
            }
            if !FileMove.exists(parent) { throw FileFailure.error(ENOENT, "moving the download to", path) }
            return []
        } catch {
            throw .fileNotMoved(error, from: target.url, to: target.url)
        }
    }

    private func digests(
        of file: TemporaryFile,
        upTo count: Int64
    ) throws(CurlewError) -> [(expected: Checksum, digest: Digest)] {
        var digests: [(expected: Checksum, digest: Digest)] = []
        for checksum in checksums { digests.append((checksum, try Digest(checksum.algorithm))) }
        try file.hash(upTo: count, into: digests, unless: isCancelled)
        return digests
    }
}

extension TemporaryFile {
    /// Adds the first `count` bytes to the digests. May take long, and throws `.cancelled` once `isCancelled` is true.
    fileprivate func hash(
        upTo count: Int64,
        into digests: [(expected: Checksum, digest: Digest)],
        unless isCancelled: () -> Bool
    ) throws(CurlewError) {
        guard !digests.isEmpty, count > 0 else { return }
        try forEachPiece(in: 0..<count) { bytes, _ throws(CurlewError) in
            if isCancelled() { throw .cancelled }
            for (_, digest) in digests { digest.update(bytes) }
        }
    }
}
