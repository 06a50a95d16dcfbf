internal import CurlewCore
public import Foundation

/// Keeps on disk what is needed to go on with downloads that a process does not finish.
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
/// Where Apple's systems go on with the downloads of a background session while its process is gone, here the next
/// process does. A download is in the journal from the moment its body begins until its file is complete or was given
/// up, if the server has told which version of the file it sends. Sessions share a journal; each sees the downloads of
/// its own `identifier`.
///
/// After a crash of the process a download goes on where its file ends. After a crash of the system nothing vouches
/// for the file's last bytes: a download that was cut off by that begins again.
public struct DownloadJournal: Sendable, Hashable {
    /// Where the entries are, a file each. It is made when it is needed.
    package let directory: URL

    /// A journal in a directory that other processes of the same user may share.
    public init(directory: URL) { self.directory = directory }

    private func folder(of session: String?) -> URL {
        // Hex, so that any identifier is a file name.
        let name = (session ?? "").utf8.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        return directory.appending(path: "session-\(name)", directoryHint: .isDirectory)
    }

    /// What processes before this one, and ended requests of this one, have left. Blocks.
    func entries(of session: String?) -> [UnfinishedDownload] {
        let folder = folder(of: session)
        let files = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
        return files.filter { $0.pathExtension == "json" }
            .compactMap { file in
                guard let entry = (try? Data(contentsOf: file)).flatMap(JournalEntry.init) else { return nil }
                switch PartialFile.look(at: entry.part) {
                // Another process is writing to it.
                case .busy: return nil
                case .gone:
                    try? FileManager.default.removeItem(at: file)
                    return nil
                case .there(let size): return UnfinishedDownload(entry, file: file, size: size)
                }
            }
            .sorted { $0.began < $1.began }
    }

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
    /// Where the file was to go; nil where it was to stay under its temporary name.
    public let destinationURL: URL?
    /// The options of the download's destination.
    public let options: DownloadRequest.Options
    /// When its body began.
    public let began: Date
    /// The number of bytes that are on disk.
    public let bytesWritten: Int64
    /// The size of the whole file in bytes; nil if the server did not say.
    public let expectedTotal: Int64?
    /// The data to pass to `download(resumingWith:)`.
    public let resumeData: Data

    private let file: URL
    private let part: String

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
        self.part = part.file
    }

    /// Gives the download up: its file and its entry are removed.
    public func discard() async {
        await FileLane.next().carryOut { [part, file] in
            DownloadFile.reopen(part, keeping: 0)?.discard()
            try? FileManager.default.removeItem(at: file)
        }
    }
}

extension ResumeData {
    /// How much of the file may be relied on where there was no time to write that down.
    fileprivate mutating func trust(_ size: Int64, isOfThisBoot: Bool) {
        if isOfThisBoot {
            // What was written is in the file, whatever became of the process. A file of segments has its full
            // length from the start: there the entry says what is there.
            if segments == nil { bytesWritten = min(size, expectedTotal ?? size) }
        } else {
            bytesWritten = 0
            segments = nil
        }
    }
}
