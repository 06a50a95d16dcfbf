internal import CurlewCore
internal import CurlewLocks
internal import Foundation

// The ends of a download's files:
//
// | end | the file of the exchange | the part on disk |
// |---|---|---|
// | `FileEnd.startsOver` | removed | removed, even if it is this file |
// | `FileEnd.failed` | kept if it can be continued and is wanted, otherwise removed | this file if it is kept[1] |
// | `FileEnd.rejected` | removed | none[1] |
// | `place`: accepted | moved to its destination | none; for an error page see `acceptErrorPage` |
// | the request is cancelled between exchanges (`endParts`) | - | removed, unless the user wants resume data |
// | no value can be made of a delivered file without a destination (`dropUnplacedFile`) | removed | - |
// | a whole body replaces the part (`recordFile`) | created | removed |
// | none of these | removed by `TemporaryFile.deinit` | - |
//
// [1] After an error page the part stays as it was.
//
// Ends of an exchange's file close it: `TemporaryFile` does so when it is placed, kept or removed. A data request that
// became a download has no part: `FileTaskDelegate` moves or discards its file itself.

/// The end of the file of one exchange, if the download is not complete and accepted.
enum FileEnd: Sendable {
    /// The response neither continues nor replaces the part.
    case startsOver
    /// The exchange has failed. `received` is the number of bytes in the file, including those of earlier exchanges.
    case failed(CurlewError, received: Int64)
    /// The file is complete, and a validation or its checksum has failed.
    case rejected
}

// All of these are called on a file lane.
extension DownloadRequest {
    /// Ends the file of an exchange.
    func end(_ opened: OpenedDownload, _ end: FileEnd) {
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
            let isKept = download.withLock { record in
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
    func startOver() {
        let old = download.withLock { record in
            // A server without proper ranges is not asked for segments again.
            if case .probe = record.described?.range { record.segments = 1 }
            return record.part.discard()
        }
        old?.removeFile()
    }

    /// Compares the checksums of an accepted file, and moves it to its destination.
    func place(_ opened: OpenedDownload) throws(CurlewError) -> URL {
        do throws(CurlewError) { try opened.verify(unless: { isCancelled }) } catch {
            end(opened, .rejected)
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
        guard let part = download.withLock({ $0.part.discard() }), hasOwnRules || !began(with: part) else { return }
        part.removeFile()
    }

    private func began(with part: ResumeData) -> Bool {
        guard case .resumeData(let data) = downloadable, let given = try? ResumeData(data) else { return false }
        return given.file == part.file
    }

    /// Forgets the part, because there is nothing left to continue.
    private func forgetPart() { download.withLock { $0.part = .none } }
}

extension DownloadRequest {
    /// Ends the download after its last exchange: removes a part that nobody wants, and calls the closures that wait
    /// for resume data.
    func endParts() async {
        let keepsPart = !isCancelled || download.withLock { $0.onCancel.keepsPart }
        if !keepsPart, let part = download.withLock({ $0.part.discard() }) {
            await FileLane.next().carryOut { part.removeFile() }
        }
        await journalEnd()
        await tellResumeData()
    }
}

extension CurlewError {
    /// Whether the bytes received before the error are worth keeping.
    fileprivate var leavesGoodBytes: Bool {
        if code == .unacceptableStatus, phase == .validation { return true }
        return isConnectivity || isTimeout || isTLS || code == .protocolViolation || code == .truncated
    }
}

/// A download whose bytes have all arrived, under its temporary name.
struct CompleteDownload: UnplacedFile {
    let request: DownloadRequest
    let opened: OpenedDownload
    let lane: FileLane
    let exchange: Exchange

    func place(ifAccepted isAccepted: Bool) async throws(CurlewError) -> ReceivedBody {
        let (request, opened) = (request, opened)
        guard isAccepted else {
            await lane.carryOut { request.end(opened, .rejected) }
            return .none
        }
        do throws(CurlewError) {
            let url = try await lane.run { () throws(CurlewError) -> URL in try request.place(opened) }
            emit(.success(url))
            return .file(url)
        } catch {
            emit(.failure(error))
            throw error
        }
    }

    private func emit(_ result: Result<URL, CurlewError>) {
        guard let events = exchange.events else { return }
        let (task, request) = (exchange.task, request)
        events.emit { $0.request(request, didFinishDownloading: result, of: task) }
    }
}

/// Counts the calls that read a download's file, to find out whether it can be removed when they have failed.
struct FileReading: Sendable {
    /// The number of calls that are making a value, or wait for the file.
    private var readers = 0
    /// Whether a call could not make its value.
    private var hasFailed = false
    /// Whether the location of the file has been disclosed.
    private var isGivenAway = false

    mutating func begins() { readers += 1 }

    mutating func fails() { hasFailed = true }

    fileprivate mutating func givesAway() { isGivenAway = true }

    /// Ends a call. Returns whether the file can be removed: a call has failed, and no other has got or awaits the
    /// file.
    mutating func ends(withValue: Bool) -> Bool {
        readers -= 1
        // The request's `fileURL` still discloses the location.
        if withValue { isGivenAway = true }
        return readers == 0 && hasFailed && !isGivenAway
    }
}

extension DownloadRequest {
    /// Records that the caller, or a handler, learns the location of the file.
    func givesFileAway() { download.withLock { $0.reading.givesAway() } }
}

extension Request {
    /// Removes a file without a chosen destination, because no value can be made of it or another attempt fetches a new
    /// one.
    func dropUnplacedFile() async {
        guard let url = record.withLock({ $0.body.fileURL }),
            downloadDestination(unless: (self as? DownloadRequest)?.destination) == nil
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
