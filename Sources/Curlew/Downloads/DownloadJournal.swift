internal import CurlewCore
internal import CurlewLocks
public import Foundation
internal import Glibc

/// Records on disk how to continue downloads that a process does not finish.
///
///     let configuration = SessionConfiguration {
///         $0.identifier = "mirror"
///         $0.downloadJournal = DownloadJournal(directory: stateDirectory)
///     }
///     let session = Session(configuration: configuration)
///     for unfinished in await session.unfinishedDownloads() {
///         let file = try await session.download(continuing: unfinished).file()
///     }
///
/// On Apple's systems a background session continues its downloads while the process is gone. Here the next process
/// continues them. A download is in the journal from the moment its body begins until its file is complete or
/// discarded, if the server has identified the version of the file. Sessions can share a journal; each sees the
/// downloads that have its `identifier`.
///
/// After a crash of the process, a download continues at the end of its file. After a crash of the system the last
/// bytes of the file cannot be trusted, so an interrupted download starts over.
public struct DownloadJournal: Sendable, Hashable {
    /// The directory of the entries, one file each, in a folder for each session. Created with the first entry.
    package let directory: URL

    /// A journal in a directory that other processes of the same user may share.
    public init(directory: URL) { self.directory = directory }

    /// The folder of a session's entries. Its name has the identifier's bytes in hexadecimal digits, because file names
    /// exclude some characters. If that is too long for a file name, it has their SHA-256.
    func folder(of session: String?) -> URL {
        let identifier = session ?? ""
        var name = "session-" + Checksum.hex(Array(identifier.utf8))
        if name.utf8.count > Int(NAME_MAX), let digest = Digest.sha256(of: identifier) {
            name = "session-sha256-" + digest
        }
        return directory.appending(path: name, directoryHint: .isDirectory)
    }

    /// Returns the downloads left by earlier processes and by ended requests of this one, oldest first. Blocks.
    func entries(of session: String?) -> [UnfinishedDownload] {
        let folder = folder(of: session)
        let files = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
        return files.filter { $0.pathExtension == "json" }
            .compactMap { file in
                guard let entry = (try? Data(contentsOf: file)).flatMap(JournalEntry.init) else { return nil }
                switch PartialFile.look(at: entry.part) {
                // Another download is writing to the file, or nothing is known about it.
                case .busy, .unknown: return nil
                case .gone:
                    try? FileManager.default.removeItem(at: file)
                    return nil
                case .there(let size): return UnfinishedDownload(entry, file: file, size: size)
                }
            }
            .sorted { $0.began < $1.began }
    }

    /// Writes an entry. A failure is ignored: the download then cannot be continued by another process. Blocks.
    func keep(_ entry: JournalEntry, of session: String?, under id: UUID) {
        let folder = folder(of: session)
        try? FileManager.default.createDirectory(
            at: folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        try? StoredText.write(entry.text, to: file(id, in: folder))
    }

    func remove(_ id: UUID, of session: String?) {
        try? FileManager.default.removeItem(at: file(id, in: folder(of: session)))
    }

    private func file(_ id: UUID, in folder: URL) -> URL {
        folder.appending(path: "\(id.uuidString).json", directoryHint: .notDirectory)
    }
}

/// A download that another process, or an earlier request, has begun and not finished.
public struct UnfinishedDownload: Sendable, Identifiable {
    /// The identity of the entry.
    public let id: UUID
    /// The URL of the download.
    public let url: URL
    /// The request's `taskDescription`.
    public let taskDescription: String?
    /// The destination of the file; `nil` if none was chosen.
    public let destinationURL: URL?
    /// The options of the download's destination.
    package let options: DownloadRequest.Options
    /// The time at which the body began.
    public let began: Date
    /// The number of bytes that are on disk.
    public let bytesWritten: Int64
    /// The size of the whole file in bytes; `nil` if the server did not say.
    public let expectedTotal: Int64?
    /// The data to pass to `download(resumingWith:)`.
    public let resumeData: Data

    private let file: URL
    private let part: ResumeData

    init?(_ entry: JournalEntry, file: URL, size: Int64) {
        guard let id = UUID(uuidString: file.deletingPathExtension().lastPathComponent) else { return nil }
        var part = entry.part
        if !entry.isVouchedFor { part.trust(size, isOfThisBoot: entry.boot == JournalEntry.currentBoot) }
        self.id = id
        url = part.url
        taskDescription = entry.taskDescription
        destinationURL = entry.destination.map { URL(filePath: $0) }
        options = DownloadRequest.Options(rawValue: entry.options)
        began = entry.began
        bytesWritten = part.bytesWritten
        expectedTotal = part.expectedTotal
        resumeData = part.encoded
        self.file = file
        self.part = part
    }

    /// Removes the download's file and its entry, unless another download, perhaps of another process, is continuing
    /// the file.
    public func discard() async {
        await FileLane.next().carryOut { [part, file] in
            part.removeFile {
                guard let data = try? Data(contentsOf: file) else { return }
                // A download that has started over writes to another file, which its entry names.
                if let entry = JournalEntry(data), entry.part.file != part.file { return }
                try? FileManager.default.removeItem(at: file)
            }
        }
    }
}

extension ResumeData {
    /// Corrects the number of received bytes of an entry that was written before they arrived. `size` is the file's
    /// size.
    fileprivate mutating func trust(_ size: Int64, isOfThisBoot: Bool) {
        if isOfThisBoot {
            // If only the process has crashed, all written bytes are in the file. A file of segments has its full
            // length from the start, so only the entry tells which bytes are there.
            if segments == nil { bytesWritten = min(size, expectedTotal ?? size) }
        } else {
            bytesWritten = 0
            segments = nil
        }
    }
}

// Keeps the journal's entry up to date during the exchanges of a download. The entry is written on file lanes.
extension DownloadRequest {
    private var journal: (DownloadJournal, session: String?)? {
        context.configuration.downloadJournal.map { ($0, context.configuration.identifier) }
    }

    /// Records the beginning of a body. Removes the entry if the file could not be continued.
    func journalBeginning(to target: OpenedDownload.Target?) {
        guard let (journal, session) = journal else { return }
        let (state, part) = download.withLock { record in
            var state = record.journal ?? JournalState()
            state.target = target
            record.journal = state
            return (state, record.part.growing?.journalData)
        }
        if let part {
            journal.keep(JournalEntry(part, of: self, state), of: session, under: state.id)
        } else {
            journal.remove(state.id, of: session)
        }
    }

    /// Records the progress of segments from time to time. Called on the transport's thread.
    func journalSegments(_ progress: SegmentProgress, on lane: FileLane) {
        guard let (journal, session) = journal else { return }
        let isDue = download.withLock { $0.journal?.isDue(progress.current.bytesWritten) ?? false }
        guard isDue else { return }
        lane.enqueue { [self] in
            let (state, part) = download.withLock { ($0.journal, $0.part.growing?.journalData) }
            guard let state, let part else { return }
            journal.keep(JournalEntry(part, of: self, state), of: session, under: state.id)
        }
    }

    /// Records the end of the last exchange. A remaining part is left for other requests to continue.
    func journalEnd() async {
        guard let (journal, session) = journal else { return }
        let (state, part) = download.withLock { (exchange(&$0.journal, with: nil), $0.part.resumable) }
        guard let state else { return }
        await FileLane.next().carryOut { [self] in
            guard let part else { return journal.remove(state.id, of: session) }
            var entry = JournalEntry(part, of: self, state)
            entry.isVouchedFor = true
            journal.keep(entry, of: session, under: state.id)
        }
    }
}

/// The identity and the progress of a download's entry in the journal.
struct JournalState: Sendable {
    let id: UUID
    let began: Date
    var target: OpenedDownload.Target?
    /// The written bytes of the segments in the entry.
    private var written: Int64 = 0

    /// The bytes between two versions of the entry, and thus the most that is fetched again after a crash.
    private static let step: Int64 = 4 * 1024 * 1024

    init(id: UUID = UUID(), began: Date = Date(), target: OpenedDownload.Target? = nil) {
        self.id = id
        self.began = began
        self.target = target
    }

    /// Returns whether the entry is due to be written again with `written` bytes of the segments, and records that it
    /// is.
    mutating func isDue(_ written: Int64) -> Bool {
        guard written - self.written >= Self.step else { return false }
        self.written = written
        return true
    }
}

extension Session {
    /// The downloads that earlier processes, and ended requests of this one, have begun under this session's
    /// `identifier` and not finished, oldest first. Empty without a `downloadJournal`.
    public nonisolated func unfinishedDownloads() async -> [UnfinishedDownload] {
        guard let journal = configuration.downloadJournal else { return [] }
        let identifier = configuration.identifier
        let found = try? await FileLane.next().run { () throws(CurlewError) in journal.entries(of: identifier) }
        return found ?? []
    }

    /// Continues a download of an earlier process in a new request. It has the `taskDescription` of the old one and,
    /// unless another is given, its destination.
    public nonisolated func download(
        continuing unfinished: UnfinishedDownload,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        to destination: DownloadRequest.Destination? = nil
    ) -> DownloadRequest {
        let target = unfinished.destinationURL.map { OpenedDownload.Target(url: $0, options: unfinished.options) }
        let former = target.map { target -> DownloadRequest.Destination in
            { _, _ in (destinationURL: target.url, options: target.options) }
        }
        let request = DownloadRequest(
            .resumeData(unfinished.resumeData),
            session: self,
            interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume,
            destination: destination ?? former
        )
        request.taskDescription = unfinished.taskDescription
        // The old destination stays in the entry until a body begins, even if the request fails before that.
        request.download.withLock { record in
            record.journal = JournalState(id: unfinished.id, began: unfinished.began, target: target)
        }
        configuration.requestWasCreated?(request)
        return request
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
    /// Whether the entry was written after the bytes that it counts.
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
