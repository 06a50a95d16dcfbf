internal import CurlewCore
internal import Foundation

/// The open file of one exchange of a download, and its destination.
struct OpenedDownload: Sendable {
    struct Target: Sendable {
        let url: URL
        let options: DownloadRequest.Options
    }

    let file: TemporaryFile
    /// The user's choice. `nil` if the file stays in its temporary directory.
    let target: Target?
    let role: BodyRole
    let digests: [(expected: Checksum, digest: Digest)]
    /// Directories that were created for the file.
    let madeDirectories: [String]

    /// Whether the file is an error page beside the part, which stays.
    var isErrorPage: Bool { if case .errorPage = role { true } else { false } }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(CurlewError) {
        try file.write(bytes, at: offset)
        // Segments arrive in no order, so they are hashed when the file is complete.
        if case .segment = role { return }
        for (_, digest) in digests { digest.update(bytes) }
    }

    /// Removes the file and its new directories.
    func discard() {
        file.discard()
        DestinationDirectory.removeIfEmpty(madeDirectories)
    }

    /// Compares the checksums. Call it once, before `move()`: it finishes the digests.
    func verify(unless isCancelled: () -> Bool) throws(CurlewError) {
        if case .segment(_, let progress, _) = role {
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

    /// Moves the file to its target, and returns its new location.
    func move() throws(CurlewError) -> URL {
        let destination = target?.url ?? visibleURL
        do throws(CurlewError) {
            try file.move(to: destination, options: target?.options ?? [], keepsPrivate: target == nil)
        } catch {
            DestinationDirectory.removeIfEmpty(madeDirectories)
            throw .fileNotMoved(error, from: file.url, to: destination)
        }
        return destination
    }

    /// A name in the temporary directory that is not hidden, and mentions Curlew.
    private var visibleURL: URL {
        let name = file.url.lastPathComponent.drop { $0 == "." }
        return file.url.deletingLastPathComponent().appending(path: "Curlew_" + name, directoryHint: .notDirectory)
    }
}

/// Opens the file for a response's body. Called on a file lane, because it calls user code and blocks.
struct DownloadOpening: Sendable {
    let role: BodyRole
    let response: LazyResponse
    let destination: DownloadRequest.Destination?
    let checksums: [Checksum]
    /// Hashing an existing part can take long, and ends early if this is true.
    let isCancelled: @Sendable () -> Bool

    func open() throws -> OpenedDownload {
        switch role {
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
        let file = try TemporaryFile.reopen(part.file, keeping: part.lengthOfFile)
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
                role: role,
                digests: try digests(of: file, upTo: count),
                madeDirectories: made
            )
        } catch {
            DestinationDirectory.removeIfEmpty(made)
            throw error
        }
    }

    private func target(proposing url: URL) -> OpenedDownload.Target? {
        guard let destination, let foundationResponse = response.value else { return nil }
        let (chosen, options) = destination(url, foundationResponse)
        // The temporary URL means that the file stays in its place.
        return chosen == url ? nil : OpenedDownload.Target(url: chosen, options: options)
    }

    /// Finds, before the first byte of a successful response, the errors that would make the final move fail. Returns
    /// the directories that it has created.
    private func prepare(_ target: OpenedDownload.Target?) throws(CurlewError) -> [String] {
        guard let target, response.head.status >= 200, response.head.status < 300 else { return [] }
        let path = target.url.path(percentEncoded: false)
        do throws(CurlewError) {
            if !target.options.contains(.removePreviousFile), FileSystem.exists(path) {
                throw FileFailure.error(EEXIST, "moving the download to", path)
            }
            if FileSystem.isDirectoryItself(path) { throw FileFailure.directoryInTheWay(path) }
            let parent = FileSystem.parent(of: path)
            if target.options.contains(.createIntermediateDirectories) {
                return try DestinationDirectory.create(parent)
            }
            if !FileSystem.exists(parent) { throw FileFailure.error(ENOENT, "moving the download to", path) }
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
                _ = try DestinationDirectory.create(FileSystem.parent(of: path))
            }
            if !keepsPrivate { try file.setPermissions(FilePermissions.ofNewFile()) }
            if options.contains(.synchronize) { try file.synchronize() }
            try FileMove.move(file, to: path, replacing: options.contains(.removePreviousFile))
        }
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
