internal import CurlewCore
internal import CurlewLocks
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
/// downloads that have its `identifier`.
///
/// After a crash of the process, a download continues at the end of its file. After a crash of the system the last
/// bytes of the file cannot be trusted, so an interrupted download starts over.
public struct DownloadJournal: Sendable, Hashable {
    /// The directory of the entries, one file each, in a folder for each session. Created with the first entry.
    package let directory: URL

    /// A journal in a directory that other processes of the same user may share.
    public init(directory: URL) { self.directory = directory }

    /// The entries of the session with this identifier.
    func folder(of session: String?) -> JournalFolder { JournalFolder(journal: self, session: session) }
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
        if !entry.isVouchedFor { part.correctCount(by: size, isOfThisBoot: entry.boot == JournalEntry.currentBoot) }
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
                // A download that has started over writes to another file, which its entry names.
                if let entry = JournalEntry(at: file), entry.part.file != part.file { return }
                try? FileManager.default.removeItem(at: file)
            }
        }
    }
}

extension Session {
    /// The downloads that earlier processes, and ended requests of this one, have begun under this session's
    /// `identifier` and not finished, oldest first. Empty without a `downloadJournal`.
    public nonisolated func unfinishedDownloads() async -> [UnfinishedDownload] {
        guard let journal = configuration.downloadJournal?.folder(of: configuration.identifier) else { return [] }
        let found = try? await FileLane.next().run { () throws(CurlewError) in journal.unfinished() }
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
        request.downloadRecord.withLock { record in
            record.journalState = JournalState(id: unfinished.id, began: unfinished.began, target: target)
        }
        configuration.requestWasCreated?(request)
        return request
    }
}

/// The identity and the progress of a download's entry in the journal.
struct JournalState: Sendable {
    let id: UUID
    let began: Date
    private(set) var target: OpenedDownload.Target?
    /// The written bytes of the segments in the entry.
    private var written: Int64 = 0

    /// The bytes between two versions of the entry, and thus the most that is fetched again after a crash.
    private static let step: Int64 = 4 * 1024 * 1024

    init(id: UUID = UUID(), began: Date = Date(), target: OpenedDownload.Target? = nil) {
        self.id = id
        self.began = began
        self.target = target
    }

    /// Records a version of the entry that is written when a body begins. A download that has started over has fewer
    /// bytes than before.
    mutating func bodyBegins(to target: OpenedDownload.Target?, written: Int64) {
        self.target = target
        self.written = written
    }

    /// Returns whether the entry is due to be written again with `written` bytes of the segments, and records that it
    /// is.
    mutating func isDue(_ written: Int64) -> Bool {
        guard written - self.written >= Self.step else { return false }
        self.written = written
        return true
    }
}

// Keeps the journal's entry up to date during the exchanges of a download. The entry is written on file lanes.
extension DownloadRequest {
    private var journalFolder: JournalFolder? {
        context.configuration.downloadJournal?.folder(of: context.configuration.identifier)
    }

    /// Records the beginning of a body. Removes the entry if the file could not be continued.
    func journalBeginning(to target: OpenedDownload.Target?) {
        guard let journal = journalFolder else { return }
        let (former, part) = downloadRecord.withLock { ($0.journalState, $0.part.growing?.journalData) }
        var state = former ?? JournalState()
        // Another download has taken over the entry, so this one gets another.
        if former != nil, journal.isTaken(state.id, own: part?.file) { state = JournalState(began: state.began) }
        state.bodyBegins(to: target, written: part?.bytesWritten ?? 0)
        let current = state
        downloadRecord.withLock { $0.journalState = current }
        if let part {
            journal.write(JournalEntry(part, of: self, current), under: current.id)
        } else {
            journal.remove(current.id)
        }
    }

    /// Records the progress of segments from time to time. Called on the transport's thread.
    func journalSegments(_ progress: SegmentProgress, on lane: FileLane) {
        guard let journal = journalFolder else { return }
        let isDue = downloadRecord.withLock { $0.journalState?.isDue(progress.current.bytesWritten) ?? false }
        guard isDue else { return }
        lane.enqueue { [self] in
            let (state, part) = downloadRecord.withLock { ($0.journalState, $0.part.growing?.journalData) }
            guard let state, let part else { return }
            journal.write(JournalEntry(part, of: self, state), under: state.id)
        }
    }

    /// Returns whether the part, and its entry, belong to another download that has continued and kept it while this
    /// one waited for its retry. Ask while the part is locked.
    func isContinuedElsewhere(_ part: ResumeData) -> Bool {
        guard let journal = journalFolder, let state = downloadRecord.withLock({ $0.journalState })
        else { return false }
        return journal.isContinued(state.id, part)
    }

    /// Records the end of the last exchange. A remaining part is left for other requests to continue.
    func journalEnd() async {
        guard let journal = journalFolder else { return }
        let (state, part) = downloadRecord.withLock { (exchange(&$0.journalState, with: nil), $0.part.resumable) }
        guard let state else { return }
        await FileLane.next().carryOut { [self] in
            // Flushing can take seconds, during which another process must not find the part in use. While the part is
            // locked below, few bytes are left to flush.
            if let part { try? PartialFile.open(part.file, isFromOutside: false)?.synchronize() }
            let found = part.map { PartialFile.lock($0.file, isFromOutside: false) } ?? .gone
            switch found {
            case .locked(let file):
                guard let part, !journal.isContinued(state.id, part) else { return }
                var entry = JournalEntry(part, of: self, state)
                // Without this a power cut could leave holes in the file, and an entry that counts them as bytes.
                entry.isVouchedFor = (try? file.synchronize()) != nil
                journal.write(entry, under: state.id)
            case .gone:
                if !journal.isTaken(state.id, own: nil) { journal.remove(state.id) }
            // Another download continues the part, and its entry, or nothing is known about the file.
            case .busy, .unknown: break
            }
        }
    }
}
