internal import CurlewCore
internal import CurlewLocks
internal import Foundation

// Keeps the journal's entry up to date over the exchanges of a download. The entry is written on file lanes.
extension DownloadRequest {
    private var journal: (DownloadJournal, session: String?)? {
        context.configuration.downloadJournal.map { ($0, context.configuration.identifier) }
    }

    /// Records the beginning of a body. Removes the entry if the file could not be continued.
    func noteBeginning(to target: OpenedDownload.Target?) {
        guard let (journal, session) = journal else { return }
        let (id, part, began) = download.withLock { record in
            let note = record.note ?? JournalNote()
            record.note = note
            record.note?.target = target
            var part = record.growing
            // A file of segments has holes. An entry without its segments would count the whole length as written.
            if let plan = record.growingSegments?.current { part?.follow(plan) }
            return (note.id, part, note.began)
        }
        if let part {
            journal.keep(JournalEntry(part, of: self, to: target, began: began), of: session, under: id)
        } else {
            journal.remove(id, of: session)
        }
    }

    /// Records the progress of segments from time to time. Called on the transport's thread.
    func noteSegments(_ progress: SegmentProgress, on lane: FileLane) {
        guard let (journal, session) = journal else { return }
        let isDue = download.withLock { record in
            guard var note = record.note else { return false }
            let written = progress.current.bytesWritten
            guard written - note.written >= JournalNote.step else { return false }
            note.written = written
            record.note = note
            return true
        }
        guard isDue else { return }
        lane.enqueue { [self] in
            let (note, growing) = download.withLock { ($0.note, $0.growing) }
            guard let note, var part = growing else { return }
            part.follow(progress.current)
            let entry = JournalEntry(part, of: self, to: note.target, began: note.began)
            journal.keep(entry, of: session, under: note.id)
        }
    }

    /// Records the end of the last exchange. A remaining part is left for other requests to continue.
    func noteEnd() async {
        guard let (journal, session) = journal else { return }
        let (note, part) = download.withLock { (exchange(&$0.note, with: nil), $0.part) }
        guard let note else { return }
        await FileLane.next().carryOut { [self] in
            guard let part else { return journal.remove(note.id, of: session) }
            var entry = JournalEntry(part, of: self, to: note.target, began: note.began)
            entry.isVouchedFor = true
            journal.keep(entry, of: session, under: note.id)
        }
    }
}

extension ResumeData {
    /// Takes over the progress of the segments.
    fileprivate mutating func follow(_ plan: SegmentPlan) {
        bytesWritten = plan.bytesWritten
        segments = plan.segments
    }
}

/// A download's entry in the journal.
struct JournalNote: Sendable {
    var id = UUID()
    var began = Date()
    var target: OpenedDownload.Target?
    /// The written bytes of the segments at the last recording.
    var written: Int64 = 0

    /// The bytes between two recordings, and thus the most that is fetched again after a crash.
    static let step: Int64 = 4 * 1024 * 1024
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

    /// Continues a download of an earlier process in a new request. It has the description of the old one and, unless
    /// another is given, its destination.
    public nonisolated func download(
        continuing unfinished: UnfinishedDownload,
        interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil,
        to destination: DownloadRequest.Destination? = nil
    ) -> DownloadRequest {
        var former: DownloadRequest.Destination?
        if let url = unfinished.destinationURL {
            let options = unfinished.options
            former = { _, _ in (destinationURL: url, options: options) }
        }
        let request = DownloadRequest(
            .resumeData(unfinished.resumeData),
            session: self,
            interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume,
            destination: destination ?? former
        )
        request.taskDescription = unfinished.taskDescription
        request.download.withLock { $0.note = JournalNote(id: unfinished.id, began: unfinished.began) }
        return request.wasCreated()
    }
}
