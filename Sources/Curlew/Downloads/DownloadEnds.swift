internal import CurlewCore
internal import CurlewLocks
internal import Foundation

// The end of the file that an exchange writes:
//
// | end | the file |
// |---|---|
// | `FileEnd.startsOver`, `FileEnd.rejected` | removed |
// | `FileEnd.failed` | kept as the part if it can be continued and is wanted, otherwise removed |
// | accepted (`place`) | moved to its destination |
// | no value can be made of it, and no destination was chosen (`dropUnplacedFile`) | removed |
// | it is the part, which was reopened in vain (`DownloadOpening.reopen`) | kept |
// | none of these | removed by `TemporaryFile.deinit` |
//
// The end of the part on disk:
//
// | what happens | the part |
// |---|---|
// | the response neither continues nor replaces it (`startOver`) | removed, even if the exchange writes to it |
// | another download writes to it (`PartIsGone.isTaken`) | left to that download, if it can know the part |
// | a new file replaces it (`StoredPart.begin`) | removed |
// | `FileEnd.failed` | the exchange's file if that is kept, otherwise none |
// | `FileEnd.rejected`, or accepted | none |
// | the response is an error page | stays as it was; if the page is accepted, see `acceptErrorPage` |
// | cancelled between exchanges (`endParts`) | removed, unless it is wanted, or `isContinuedElsewhere` |
//
// Ends of an exchange's file close it: `TemporaryFile` does so when it is placed, kept or removed. A data request that
// became a download has no part: `FileTaskDelegate` moves or discards its file itself.

/// The end of the file of one exchange, if the download is not complete and accepted.
enum FileEnd: Sendable {
    /// The response neither continues nor replaces the part.
    case startsOver
    /// The exchange has failed, or the request was cancelled. `received` is the number of bytes in the file, including
    /// those of earlier exchanges.
    case failed(CurlewError, received: Int64)
    /// The file is complete, and a validation or its checksum has failed.
    case rejected
}

// All of these are called on a file lane.
extension DownloadRequest {
    /// Ends the file of an exchange.
    func endFile(_ opened: OpenedDownload, by end: FileEnd) {
        switch end {
        // The part is forgotten before its file is removed: `currentResumeData` may be asked at any time.
        case .startsOver:
            startOver()
            opened.discard()
        case .rejected:
            if !opened.isErrorPage { forgetPart() }
            opened.discard()
        case .failed(let error, let received):
            if opened.isErrorPage { return opened.discard() }
            let isKept = downloadRecord.withLock { record in
                record.part.end(
                    after: received,
                    isWanted: error.code == .cancelled ? record.onCancel.keepsPart : error.leavesGoodBytes
                )
            }
            if isKept { opened.file.keep() } else { opened.discard() }
        }
    }

    /// Discards the part, because the response neither continues nor replaces it. The next exchange asks for the whole
    /// file.
    ///
    /// `partIsTaken` says that the file was locked elsewhere. If another download can know the file, it stays, because
    /// that download may have kept it since. Otherwise only a child of this process, between its fork and its exec, can
    /// have held the lock, and nobody else would remove the file.
    func startOver(partIsTaken: Bool = false) {
        let old = downloadRecord.withLock { record in
            // A server without proper ranges is not asked for segments again.
            if case .probe = record.described?.range { record.segments = 1 }
            return record.part.discard()
        }
        guard let old else { return }
        if partIsTaken, context.configuration.downloadJournal != nil || isFromUser(old) { return }
        old.removeFile()
    }

    /// Compares the checksums of an accepted file, and moves it to its destination.
    func place(_ opened: OpenedDownload) throws(CurlewError) -> URL {
        do throws(CurlewError) { try opened.verify(unless: { isCancelled }) } catch {
            // A cancellation interrupts the hashing of segments and says nothing about the bytes. The segments count
            // them.
            endFile(opened, by: error.code == .cancelled ? .failed(error, received: 0) : .rejected)
            throw error
        }
        guard opened.isErrorPage else {
            forgetPart()
            return try opened.move()
        }
        // If the move fails, the part of the file is kept, as if the error page had been rejected.
        let url = try opened.move()
        acceptErrorPage()
        return url
    }

    /// Ends a download for which an error page was accepted instead of the rest.
    ///
    /// If the request's own validations have accepted the page, the part is discarded. Without validations nothing has
    /// checked the status, so a part that the user's resume data names is kept. A part of an earlier attempt is
    /// discarded, because nothing else refers to it.
    private func acceptErrorPage() {
        guard let part = downloadRecord.withLock({ $0.part.discard() }) else { return }
        guard hasOwnRules || !isFromUser(part) else {
            // The entry in the journal stays, as the part does: another process may continue it.
            return downloadRecord.withLock { $0.journalState = nil }
        }
        part.removeFile()
    }

    /// Returns whether the part is the one that the user's resume data names.
    private func isFromUser(_ part: ResumeData) -> Bool {
        guard case .resumeData(let data) = downloadable, let given = try? ResumeData(data) else { return false }
        return given.file == part.file
    }

    /// Forgets the part, because there is nothing left to continue.
    private func forgetPart() { downloadRecord.withLock { $0.part = .none } }
}

extension DownloadRequest {
    /// Ends the download after its last exchange: removes a part that nobody wants, and calls the closures that wait
    /// for resume data.
    func endParts() async {
        let keepsPart = !isCancelled || downloadRecord.withLock { $0.onCancel.keepsPart }
        if !keepsPart, downloadRecord.withLock({ $0.part.resumable != nil }) {
            await FileLane.next().carryOut { [self] in
                // The request may have been cancelled before its first attempt. A part that the system refuses to open
                // is not removed.
                try? examinePart()
                guard case .kept(let part) = downloadRecord.withLock({ $0.part }) else { return }
                downloadRecord.withLock { $0.part = .none }
                part.removeFile(unless: { isContinuedElsewhere(part) })
            }
        }
        await journalEnd()
        await deliverResumeData()
    }
}

extension CurlewError {
    /// Whether the bytes received before the error are worth keeping.
    fileprivate var leavesGoodBytes: Bool {
        if code == .unacceptableStatus, phase == .validation { return true }
        return isConnectivity || isTimeout || isTLS || code == .protocolViolation || code == .truncated
    }
}

extension Request {
    /// Removes a file without a chosen destination, because no value can be made of it or another attempt fetches a new
    /// one.
    func dropUnplacedFile() async {
        guard let url = record.withLock({ $0.body.fileURL }),
            downloadDestination(orElse: asDownload?.destination) == nil
        else { return }
        // The old result is released outside the lock.
        _ = record.withLock { record in
            (
                record.exchange?.withLock { $0.replaceBody(by: .none) },
                record.lifecycle.replaceResult { $0.withoutBody }
            )
        }
        await FileLane.next().carryOut { try? FileManager.default.removeItem(at: url) }
    }
}
