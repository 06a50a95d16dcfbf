internal import CurlewCore
public import Foundation

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
/// downloads of its own `identifier`.
///
/// After a crash of the process, a download continues at the end of its file. After a crash of the system the last
/// bytes of the file cannot be trusted, so an interrupted download starts over.
public struct DownloadJournal: Sendable, Hashable {
    /// The directory of the entries, one file each. It is created when it is needed.
    package let directory: URL

    /// A journal in a directory that other processes of the same user may share.
    public init(directory: URL) { self.directory = directory }

    private func folder(of session: String?) -> URL {
        // Hexadecimal, so that any identifier is a valid file name.
        let name = (session ?? "").utf8.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        return directory.appending(path: "session-\(name)", directoryHint: .isDirectory)
    }

    /// The downloads left by earlier processes and by ended requests of this one. Blocks.
    func entries(of session: String?) -> [UnfinishedDownload] {
        let folder = folder(of: session)
        let files = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
        return files.filter { $0.pathExtension == "json" }
            .compactMap { file in
                guard let entry = (try? Data(contentsOf: file)).flatMap(JournalEntry.init) else { return nil }
                switch PartialFile.look(at: entry.part) {
                // Another download is writing to the file.
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
    /// The destination of the file; `nil` if it was to keep its temporary name.
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

    /// Gives the download up, and removes its file and its entry.
    public func discard() async {
        await FileLane.next().carryOut { [part, file] in
            DownloadFile.reopen(part, keeping: 0)?.discard()
            try? FileManager.default.removeItem(at: file)
        }
    }
}

extension ResumeData {
    /// Sets how much of the file can be relied on, for an entry that was written before the bytes.
    fileprivate mutating func trust(_ size: Int64, isOfThisBoot: Bool) {
        if isOfThisBoot {
            // After a crash of the process alone, all written bytes are in the file. A file of segments has its full
            // length from the start, so only the entry tells which bytes are there.
            if segments == nil { bytesWritten = min(size, expectedTotal ?? size) }
        } else {
            bytesWritten = 0
            segments = nil
        }
    }
}
