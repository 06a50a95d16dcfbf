internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// Writes a response's body to a file next to its destination, and moves it there when the response was accepted.
final class DownloadTaskDelegate: TaskDelegate {
    private let request: DownloadRequest
    private let range: RequestedRange
    private let file: ResponseFile

    init(_ request: DownloadRequest) {
        self.request = request
        range = request.requestedRange(of: request.request)
        file = ResponseFile(onStartOver: { request.startOver(partIsTaken: $0) })
    }

    // MARK: The head

    func begin(_ response: LazyResponse, in exchange: Exchange) -> Disposition {
        let head = response.head
        guard let role = range.role(of: head, dividingInto: request.downloadRecord.withLock { $0.segments }) else {
            file.startOver()
            return .abort(.downloadStartsOver)
        }
        file.span = ResponseFile.Span(of: role, head, hasBody: exchange.toSend.method != .head)
        reportStart(of: role, exchange)
        open(role, head, exchange)
        return .pause
    }

    /// Reports the bytes that were on disk before the body.
    private func reportStart(of role: BodyRole, _ exchange: Exchange) {
        let start = TransferCount(completed: file.span.position, total: file.span.fileLength)
        switch role {
        case .wholeFile, .errorPage: break
        case .rest:
            exchange.continues(start)
            emitResume(at: start, exchange)
        case .alreadyComplete:
            // Nothing was left to download. Users see the status that the rest of the file would have had.
            exchange.state.withLock { $0.showResponse(as: 206) }
            exchange.continues(start)
        case .segment(_, let progress, let part):
            // Users see the progress of the whole file. The position says nothing about the other segments.
            exchange.continues(progress.count)
            if part != nil { emitResume(at: progress.count, exchange) }
        }
    }

    private func open(_ role: BodyRole, _ head: ResponseHead, _ exchange: Exchange) {
        let (control, shown) = exchange.state.withLock { ($0.relay.control, $0.response) }
        guard let response = shown else { return }
        let opening = DownloadOpening(
            role: role,
            response: response,
            destination: request.downloadDestination(orElse: request.destination),
            checksums: request.downloadRecord.withLock { $0.checksums },
            isCancelled: { [request] in request.isCancelled }
        )
        let total = file.span.fileLength
        file.open(by: opening, resuming: control) { [request] opened in
            let old = request.downloadRecord.withLock { record in
                record.part.begin(
                    role, head, total: total >= 0 ? total : nil, in: opened.file.url, of: record.described)
            }
            old?.removeFile()
            // An error page leaves the part as it is, and its entry in the journal.
            if !opened.isErrorPage { request.journalBeginning(to: opened.target) }
        }
    }

    func untilReady() async { await file.lane.barrier() }

    // MARK: The body

    func receive(_ bytes: UnsafeRawBufferPointer, of data: Data?, in exchange: Exchange) -> Disposition {
        file.receive(bytes) { opened, span in
            switch opened.role {
            case .segment(let index, let progress, _):
                exchange.updateReceived(to: progress.wrote(bytes.count, inSegment: index))
                request.journalSegments(progress, on: file.lane)
            case .wholeFile, .rest, .errorPage, .alreadyComplete:
                exchange.updateReceived(to: TransferCount(completed: span.position, total: span.fileLength))
            }
            emitWritten(Int64(bytes.count), span, exchange)
        }
    }

    // MARK: The end

    func close(_ error: CurlewError?, of exchange: Exchange) async -> CollectedBody {
        // The file may still be about to be opened.
        await file.lane.barrier()
        switch file.phase {
        case .unopened, .opening: return CollectedBody(error: error)
        case .failed(let failure): return CollectedBody(error: error ?? failure)
        case .startsOver:
            return CollectedBody(error: error ?? .downloadStartsOver, startsOver: true)
        case .open(let opened): return await collect(opened, after: error, of: exchange)
        }
    }

    /// Fetches the rest of the file. If bytes are missing in the end, ends the file.
    private func collect(
        _ opened: OpenedDownload,
        after error: CurlewError?,
        of exchange: Exchange
    ) async -> CollectedBody {
        let span = file.span
        var cause = error
        if cause == nil { cause = await fetchRest(opened, span, exchange) }
        guard let cause else { return complete(opened, exchange, received: span.position) }
        let failure = request.isCancelled ? request.cancellation : cause
        let startsOver = if case .segment(_, let progress, _) = opened.role { progress.isOutdated } else { false }
        let end: FileEnd = startsOver ? .startsOver : .failed(failure, received: span.position)
        await file.lane.carryOut { [request] in request.endFile(opened, by: end) }
        return CollectedBody(error: failure, startsOver: startsOver)
    }

    private func complete(_ opened: OpenedDownload, _ exchange: Exchange, received: Int64) -> CollectedBody {
        var collected = CollectedBody(body: .file(opened.file.url))
        // The file was complete before, so the error page is not validated.
        if case .alreadyComplete = opened.role { collected.verdict = .accepted }
        collected.file = CompleteDownload(
            request: request, opened: opened, received: received, lane: file.lane, exchange: exchange)
        return collected
    }

    /// Fetches the bytes of the file that the body has not contained. Returns an error if some are missing in the end.
    private func fetchRest(
        _ opened: OpenedDownload,
        _ span: ResponseFile.Span,
        _ exchange: Exchange
    ) async -> CurlewError? {
        guard case .segment(_, let progress, _) = opened.role else { return span.shortage }
        guard !progress.current.isComplete else { return nil }
        return await SegmentedTransfer(
            request: request,
            exchange: exchange,
            opened: opened,
            progress: progress,
            lane: file.lane
        ).run()
    }

    // MARK: Events

    private func emitWritten(_ count: Int64, _ span: ResponseFile.Span, _ exchange: Exchange) {
        guard let events = exchange.events else { return }
        let (task, request) = (exchange.id, request)
        events.emitPiece {
            $0.request(
                request,
                task: task,
                didWriteData: count,
                totalBytesWritten: span.position,
                totalBytesExpectedToWrite: span.fileLength
            )
        }
    }

    private func emitResume(at start: TransferCount, _ exchange: Exchange) {
        guard let events = exchange.events else { return }
        let (task, request) = (exchange.id, request)
        events.emitExchange {
            $0.request(request, task: task, didResumeAtOffset: start.completed, expectedTotalBytes: start.total)
        }
    }
}

/// A download whose bytes have all arrived, under its temporary name.
struct CompleteDownload: UnplacedFile {
    let request: DownloadRequest
    let opened: OpenedDownload
    /// The number of bytes in the file, including those of earlier exchanges. Segments count their bytes themselves.
    let received: Int64
    let lane: FileLane
    let exchange: Exchange

    func place(ifAccepted isAccepted: Bool) async throws(CurlewError) -> ReceivedBody {
        let (request, opened) = (request, opened)
        guard isAccepted else {
            // A cancellation says nothing about the bytes, which the user may want to keep.
            let end: FileEnd = request.isCancelled ? .failed(request.cancellation, received: received) : .rejected
            await lane.carryOut { request.endFile(opened, by: end) }
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
        let (task, request) = (exchange.id, request)
        events.emit { $0.request(request, didFinishDownloading: result, of: task) }
    }
}

/// Collects the body of a data request in a file, because the user has turned the request into a download.
///
/// The file is opened for the first bytes: a response without a body has no file.
final class FileTaskDelegate: TaskDelegate, UnplacedFile {
    private let file = ResponseFile()
    private let request: DataRequest
    private let opening: DownloadOpening

    init(for request: DataRequest, _ response: LazyResponse) {
        self.request = request
        opening = DownloadOpening(
            role: .wholeFile,
            response: response,
            destination: request.downloadDestination(orElse: nil),
            checksums: [],
            isCancelled: { request.isCancelled }
        )
    }

    func untilReady() async { await file.lane.barrier() }

    func receive(_ bytes: UnsafeRawBufferPointer, of data: Data?, in exchange: Exchange) -> Disposition {
        if case .unopened = file.phase {
            file.open(by: opening, resuming: exchange.control) { [request] opened in
                request.context.configuration.decisions?.didBecomeDownload?(request, opened.file.url)
            }
            return .pause
        }
        return file.receive(bytes) { _, _ in exchange.received(bytes) }
    }

    func close(_ error: CurlewError?, of exchange: Exchange) async -> CollectedBody {
        // The file may still be about to be opened.
        await file.lane.barrier()
        switch file.phase {
        case .unopened, .opening, .startsOver: return CollectedBody(error: error, file: self)
        case .failed(let failure): return CollectedBody(error: error ?? failure, file: self)
        case .open(let opened):
            guard let error else { return CollectedBody(body: .file(opened.file.url), file: self) }
            await file.lane.carryOut { opened.discard() }
            return CollectedBody(error: error)
        }
    }

    func place(ifAccepted isAccepted: Bool) async throws(CurlewError) -> ReceivedBody {
        guard case .open(let opened) = file.phase else { return .none }
        guard isAccepted else {
            await file.lane.carryOut { opened.discard() }
            return .none
        }
        return .file(try await file.lane.run { () throws(CurlewError) -> URL in try opened.move() })
    }
}
