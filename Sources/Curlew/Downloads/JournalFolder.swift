internal import CurlewCore
internal import Foundation
internal import Glibc

/// The entries of one session, in a directory of the journal: one file for each download. All methods block.
struct JournalFolder: Sendable {
    let journal: DownloadJournal
    /// The session's `identifier`.
    let session: String?

    /// The directory. Its name has the identifier's bytes in hexadecimal digits, because file names exclude some
    /// characters. If that is too long for a file name, it has their SHA-256.
    var url: URL {
        let identifier = session ?? ""
        var name = "session-" + Checksum.hex(Array(identifier.utf8))
        if name.utf8.count > Int(NAME_MAX), let digest = Digest.hex(.sha256, of: identifier) {
            name = "session-sha256-" + digest
        }
        return journal.directory.appending(path: name, directoryHint: .isDirectory)
    }

    /// Returns the downloads left by earlier processes and by ended requests of this one, oldest first.
    func unfinished() -> [UnfinishedDownload] {
        let files = (try? FileManager.default.contentsOfDirectory(at: url, includingPropertiesForKeys: nil)) ?? []
        return files.filter { $0.pathExtension == "json" }
            .compactMap { file in
                guard let entry = JournalEntry(at: file) else { return nil }
                switch PartialFile.lock(entry.part.file, isFromOutside: true) {
                case .locked(let part):
                    guard let size = try? part.status().st_size else { return nil }
                    return UnfinishedDownload(entry, file: file, size: Int64(size))
                case .busy, .unknown: return nil
                case .gone:
                    // The download may have started over meanwhile: its entry then names another file.
                    if JournalEntry(at: file)?.part.file == entry.part.file {
                        try? FileManager.default.removeItem(at: file)
                    }
                    return nil
                }
            }
            .sorted { $0.began < $1.began }
    }

    /// Writes an entry. A failure is ignored: the download then cannot be continued by another process.
    func write(_ entry: JournalEntry, under id: UUID) {
        try? FileManager.default.createDirectory(
            at: url,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        // Only the last entry of a download vouches for bytes. The others are not worth the wait for the disk.
        try? StoredText.write(entry.text, to: file(id), synchronizing: entry.isVouchedFor)
    }

    func remove(_ id: UUID) { try? FileManager.default.removeItem(at: file(id)) }

    /// Returns whether the entry belongs to another download, which writes to the file that the entry names or has left
    /// it. `own` is the file that the caller writes to; the caller must have removed its former file.
    ///
    /// Between two attempts of a download nobody locks its file. Another process, or another session of this one, can
    /// then find the entry and continue the file under the same `id`. The next attempt finds the file in use and starts
    /// over, and must leave the entry alone, also if the other download fails and keeps the file before the body
    /// begins.
    func isTaken(_ id: UUID, own: String?) -> Bool {
        let file = file(id)
        // An entry that cannot be read, for instance because the process has too many open files, may be another's.
        guard let data = try? Data(contentsOf: file) else { return FileSystem.exists(file.path(percentEncoded: false)) }
        guard let entry = JournalEntry(data), entry.part.file != own else { return false }
        switch PartialFile.lock(entry.part.file, isFromOutside: true) {
        // If in doubt, the entry is left: one too many is removed once its file is gone, an overwritten one is lost.
        case .locked, .busy, .unknown: return true
        case .gone: return false
        }
    }

    /// Returns whether another download has continued `part` under the same `id`, has failed, and has kept the file
    /// with more bytes. Ask while the file is locked.
    ///
    /// The caller's own entry does not vouch for its bytes once a body has begun. Before that it may be the entry of an
    /// earlier request, but then it counts the same bytes as `part`.
    func isContinued(_ id: UUID, _ part: ResumeData) -> Bool {
        guard let entry = JournalEntry(at: file(id)) else { return false }
        return entry.isVouchedFor && entry.part.file == part.file && entry.part.bytesWritten > part.bytesWritten
    }

    private func file(_ id: UUID) -> URL {
        url.appending(path: "\(id.uuidString).json", directoryHint: .notDirectory)
    }
}

/// The record of one download on disk.
struct JournalEntry: Codable {
    var version = Self.currentVersion
    var part: ResumeData
    var taskDescription: String?
    var destination: String?
    var options: Int
    var began: Date
    /// Identifies the boot of the system during which the entry was written.
    var boot: String
    /// Whether the bytes that the entry counts were on the disk before it was written.
    var isVouchedFor: Bool

    static let currentVersion = 1

    init(_ part: ResumeData, of request: DownloadRequest, _ state: JournalState) {
        self.part = part
        taskDescription = request.taskDescription
        destination = state.target?.url.path(percentEncoded: false)
        options = state.target?.options.rawValue ?? 0
        began = state.began
        boot = Self.currentBoot
        isVouchedFor = false
    }

    init?(_ data: Data) {
        guard let entry = try? JSONDecoder().decode(JournalEntry.self, from: data),
            entry.version == Self.currentVersion
        else { return nil }
        self = entry
    }

    /// Reads an entry. `nil` if there is none, or it is not readable. Blocks.
    init?(at file: URL) {
        guard let data = try? Data(contentsOf: file) else { return nil }
        self.init(data)
    }

    var text: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    /// Identifies the current boot of the system.
    static let currentBoot: String =
        (try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8))?
        .trimmingCharacters(in: .whitespacesAndNewlines) ?? "unknown-\(UUID().uuidString)"
}

extension ResumeData {
    /// Corrects the number of received bytes of an entry that was written before they arrived. `size` is the file's
    /// size.
    mutating func correctCount(by size: Int64, isOfThisBoot: Bool) {
        if isOfThisBoot {
            // If only the process has crashed, all written bytes are in the file. A file of segments has holes, so only
            // the entry tells which bytes are there.
            if segments == nil { bytesWritten = min(size, expectedTotal ?? size) }
        } else {
            bytesWritten = 0
            segments = nil
        }
    }
}
