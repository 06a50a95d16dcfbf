internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// Writes a response's body to a file next to its destination, and moves it there when the response was accepted.
final class DownloadTaskDelegate: TaskDelegate {
    private let download: DownloadRequest
    private let asked: RequestedRange
    private let file: ResponseFile

    init(_ request: DownloadRequest) {
        download = request
        asked = request.requestedRange(of: request.request)
        file = ResponseFile(startOver: { request.startOver() })
    }

    // MARK: The head

    func begin(_ response: LazyResponse, in exchange: Exchange) -> Disposition {
        let head = response.head
        file.span = ResponseFile.Span(fileLength: head.lengthOfDecodedBody)
        guard let step = step(after: head, exchange) else {
            file.becomeUseless()
            return .abort(.downloadStartsOver)
        }
        // The body may still be a part: the user's request has a range, or the part covers the whole file.
        if case .wholeFile = step, exchange.sent.method != .head { file.span.end = ResumePlan.lengthOfPart(head) }
        open(step, head, exchange)
        return .pause
    }

    /// Decides how the body is used. Returns `nil` if the download has to start over.
    private func step(after head: ResponseHead, _ exchange: Exchange) -> DownloadStep? {
        switch asked {
        case .wholeFile: return .wholeFile
        case .rest(let part): return step(after: head, continuing: part, exchange)
        case .probe:
            switch SegmentPlan.decision(forProbe: head) {
            case .divide(let validator, let have, let total):
                let count = download.download.withLock { $0.segments }
                return segment(
                    0, SegmentPlan(validator: validator, total: total, have: have, count: count), nil, exchange)
            case .wholeFile: return .wholeFile
            case .startOver: return nil
            case .errorPage: return .errorPage
            }
        case .segment(let index, let part, let plan):
            switch plan.decision(for: head, segment: index) {
            case .write: return segment(index, plan, part, exchange)
            case .startOver: return nil
            case .errorPage: return .errorPage
            }
        }
    }

    private func step(
        after head: ResponseHead,
        continuing part: ResumeData,
        _ exchange: Exchange
    ) -> DownloadStep? {
        let plan = ResumePlan(part)
        switch plan.decision(for: head) {
        case .append(let total):
            continues(at: plan.offset, upTo: total, of: total, exchange)
            emitResume(at: plan.offset, of: total, exchange)
            return .rest(of: part, at: plan.offset)
        case .wholeFile: return .wholeFile
        case .alreadyComplete:
            // Nothing was left to download. Users see the status that the rest of the file would have had.
            exchange.state.withLock { $0.showResponse(as: 206) }
            continues(at: part.bytesWritten, upTo: nil, of: part.bytesWritten, exchange)
            return .alreadyComplete(part)
        case .startOver: return nil
        case .errorPage: return .errorPage
        }
    }

    private func segment(
        _ index: Int,
        _ plan: SegmentPlan,
        _ part: ResumeData?,
        _ exchange: Exchange
    ) -> DownloadStep {
        // The position in the file says nothing about the other segments; users see the progress of the whole file.
        let segment = plan.segments.isEmpty ? nil : plan.segments[index]
        continues(at: segment?.position ?? 0, upTo: segment?.end, of: plan.total, exchange)
        exchange.continues(TransferCount(completed: plan.bytesWritten, total: plan.total))
        if part != nil { emitResume(at: plan.bytesWritten, of: plan.total, exchange) }
        return .segment(index, SegmentProgress(plan), of: part)
    }

    /// Sets the position at which the body continues the file, and reports it as progress.
    private func continues(at position: Int64, upTo end: Int64?, of total: Int64, _ exchange: Exchange) {
        file.span = ResponseFile.Span(position: position, end: end, fileLength: total)
        exchange.continues(TransferCount(completed: position, total: total))
    }

    private func open(_ step: DownloadStep, _ head: ResponseHead, _ exchange: Exchange) {
        let (control, shown) = exchange.state.withLock { ($0.relay.control, $0.response) }
        guard let response = shown else { return }
        let opening = DownloadOpening(
            step: step,
            response: response,
            destination: download.downloadDestination(unless: download.destination),
            checksums: download.download.withLock { $0.checksums },
            isCancelled: { [download] in download.isCancelled }
        )
        let total = file.span.fileLength
        file.open(by: opening, resuming: control) { [download] opened in
            download.recordFile(of: step, head, total: total, in: opened.file.url)
            download.journalBeginning(to: opened.target)
        }
    }

    func untilReady() async { await file.lane.barrier() }

    // MARK: The body

    func receive(_ bytes: UnsafeRawBufferPointer, of data: Data?, in exchange: Exchange) -> Disposition {
        file.receive(bytes) { opened, span in
            switch opened.step {
            case .segment(let index, let progress, _):
                exchange.received(progress.wrote(bytes.count, inSegment: index))
                download.journalSegments(progress, on: file.lane)
            case .wholeFile, .rest, .errorPage, .alreadyComplete:
                exchange.received(TransferCount(completed: span.position, total: span.fileLength))
            }
            emitWritten(Int64(bytes.count), span, exchange)
        }
    }

    // MARK: The end

    func close(_ error: CurlewError?, of exchange: Exchange) async -> CollectedBody {
        // The file may still be about to be opened.
        await file.lane.barrier()
        let download = download
        switch file.phase {
        case .unopened, .opening: return CollectedBody(error: error)
        case .failed(let failure): return CollectedBody(error: error ?? failure)
        case .useless:
            return CollectedBody(error: error ?? .downloadStartsOver, startsOver: true)
        case .open(let opened):
            let span = file.span
            var ending = error ?? shortage(opened, span)
            if ending == nil { ending = await fetchOtherSegments(opened, exchange) }
            guard let ending else { return complete(opened, exchange) }
            let failure = download.isCancelled ? download.cancellation : ending
            if case .segment(_, let progress, _) = opened.step, progress.isOutdated {
                await file.lane.carryOut { download.end(opened, .startsOver) }
                return CollectedBody(error: failure, startsOver: true)
            }
            await file.lane.carryOut { download.end(opened, .failed(failure, received: span.position)) }
            return CollectedBody(error: failure)
        }
    }

    private func complete(_ opened: OpenedDownload, _ exchange: Exchange) -> CollectedBody {
        var collected = CollectedBody(body: .file(opened.file.url))
        // The file was complete before, so the error page is not validated.
        if case .alreadyComplete = opened.step { collected.verdict = .accepted }
        collected.file = CompleteDownload(request: download, opened: opened, lane: file.lane, exchange: exchange)
        return collected
    }

    private func fetchOtherSegments(_ opened: OpenedDownload, _ exchange: Exchange) async -> CurlewError? {
        guard case .segment(_, let progress, _) = opened.step, !progress.current.isComplete else { return nil }
        return await SegmentedTransfer(
            request: download,
            exchange: exchange,
            opened: opened,
            progress: progress,
            lane: file.lane
        ).run()
    }

    private func shortage(_ opened: OpenedDownload, _ span: ResponseFile.Span) -> CurlewError? {
        // The missing bytes of a segment are fetched with the other segments.
        if case .segment = opened.step { return nil }
        return span.shortage
    }

    // MARK: Events

    private func emitWritten(_ count: Int64, _ span: ResponseFile.Span, _ exchange: Exchange) {
        guard let events = exchange.events else { return }
        let (task, download) = (exchange.task, download)
        events.emitPiece {
            $0.request(
                download,
                task: task,
                didWriteData: count,
                totalBytesWritten: span.position,
                totalBytesExpectedToWrite: span.fileLength
            )
        }
    }

    private func emitResume(at offset: Int64, of total: Int64, _ exchange: Exchange) {
        guard let events = exchange.events else { return }
        let (task, download) = (exchange.task, download)
        events.emitExchange {
            $0.request(download, task: task, didResumeAtOffset: offset, expectedTotalBytes: total)
        }
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
            step: .wholeFile,
            response: response,
            destination: request.downloadDestination(unless: nil),
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
        case .unopened, .opening, .useless: return CollectedBody(error: error, file: self)
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
