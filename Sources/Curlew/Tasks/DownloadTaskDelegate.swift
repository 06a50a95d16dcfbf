internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// Writes a response's body into a file beside its destination, and moves it there when it was accepted.
///
/// The destination is user code, and opening a file blocks: between head and body the exchange is paused
/// while a file lane does both.
// SAFETY: as for `TaskDelegate`: one owner at a time. What the file lane makes goes through `state`.
final class DownloadTaskDelegate: TaskDelegate, @unchecked Sendable {
    private let download: DownloadRequest
    private let asked: DownloadAsking
    private var exchange: (lowered: TransferRequest, transport: any Transport, budget: TimeoutBudget)?
    private let lane = FileLane.next()
    private let state = Lock<FileState>(.waiting)
    /// What becomes of the file is decided.
    private var isDecided = false

    private enum FileState {
        case waiting
        case open(OpenedDownload)
        case failed(CurlewError)
    }

    init(request: DownloadRequest, task: TaskIdentifier, url: URL, events: EventSink?, asked: DownloadAsking) {
        download = request
        self.asked = asked
        super.init(request: request, task: task, url: url, events: events)
    }

    override func willPerform(
        _ lowered: TransferRequest, in session: Session, within budget: TimeoutBudget
    ) {
        exchange = (lowered, session.transport, budget)
    }

    // MARK: The head

    override func begin(_ head: ResponseHead) -> Disposition {
        guard let step = step(after: head) else { return .abort(download.askAgain(on: lane)) }
        open(step, head)
        return .pause
    }

    /// nil where neither this response nor what is there is of use.
    private func step(after head: ResponseHead) -> DownloadStep? {
        switch asked {
        case .wholeFile: return .wholeFile
        case .rest(let part): return step(after: head, continuing: part)
        case .probe:
            switch SegmentPlan.decision(forProbe: head) {
            case .divide(let validator, let have, let total):
                let count = download.download.withLock { $0.segments }
                return segment(0, SegmentPlan(validator: validator, total: total, have: have, count: count), nil)
            case .wholeFile: return .wholeFile
            case .askAgain: return nil
            case .unrelated: return .aside
            }
        case .segment(let index, let part, let plan):
            switch plan.decision(for: head, segment: index) {
            case .write: return segment(index, plan, part)
            case .startOver: return nil
            case .unrelated: return .aside
            }
        }
    }

    private func step(after head: ResponseHead, continuing part: ResumeData) -> DownloadStep? {
        let plan = ResumePlan(part)
        switch plan.decision(for: head) {
        case .append(let total):
            continues(at: plan.offset, of: total ?? -1)
            emitResume(at: plan.offset)
            return .rest(of: part, at: plan.offset)
        case .startOver: return .wholeFile
        case .alreadyComplete:
            // For the user it is what the rest of the file would have been.
            request.showsResponse(as: 206)
            continues(at: part.bytesWritten, of: part.bytesWritten)
            return .nothing(complete: part)
        case .askAgain: return nil
        case .unrelated: return .aside
        }
    }

    private func segment(_ index: Int, _ plan: SegmentPlan, _ part: ResumeData?) -> DownloadStep {
        // `received` counts from here where this segment's next byte belongs.
        continues(at: plan.segments.isEmpty ? 0 : plan.segments[index].position, of: plan.total)
        request.continues(TransferCount(completed: plan.bytesWritten, total: plan.total))
        if part != nil { emitResume(at: plan.bytesWritten) }
        return .segment(index, SegmentProgress(plan), of: part)
    }

    private func open(_ step: DownloadStep, _ head: ResponseHead) {
        let control = request.record.withLock { $0.run.exchange?.control }
        guard let response = request.record.withLock({ $0.transfer.response }) else { return }
        let opening = DownloadOpening(
            step: step,
            response: response,
            destination: download.downloadDestination(unless: download.destination),
            checksums: download.download.withLock { $0.checksums },
            isCancelled: { [download] in download.isCancelled }
        )
        let total = expected
        lane.enqueue { [self] in
            do {
                let opened = try opening.open()
                download.begins(step, head, total: total, in: opened.file.url)
                download.noteBeginning(to: opened.target)
                state.withLock { $0 = .open(opened) }
            } catch {
                let failure: CurlewError =
                    error is DownloadOpening.PartIsGone
                    ? download.askAgain(on: lane) : (error as? CurlewError) ?? .downloadFailed(error)
                state.withLock { $0 = .failed(failure) }
            }
            control?.resumeReceiving()
        }
    }

    override func untilReady() async { await lane.barrier() }

    // MARK: The body

    override func take(_ bytes: UnsafeRawBufferPointer) -> Disposition {
        switch state.withLock({ $0 }) {
        case .waiting: return .pause
        case .failed(let error): return .abort(error)
        case .open(let opened):
            if case .nothing = opened.step { return .proceed }
            do throws(CurlewError) {
                try opened.write(bytes, at: received)
                return .proceed
            } catch {
                return .abort(error)
            }
        }
    }

    // An error page must not count as progress of a file that is complete.
    override func count(_ bytes: UnsafeRawBufferPointer) {
        guard case .open(let opened) = state.withLock({ $0 }) else { return }
        switch opened.step {
        case .nothing: return
        case .segment(let index, let progress, _):
            countSegment(bytes, progress.wrote(bytes.count, inSegment: index))
            download.noteSegments(progress, on: lane)
        case .wholeFile, .rest, .aside: super.count(bytes)
        }
    }

    // MARK: The end

    // The error page of a file that is complete is accepted unasked.
    override var verdict: (CurlewError?, Bool)? {
        if case .open(let opened) = state.withLock({ $0 }), case .nothing = opened.step { return (nil, false) }
        return nil
    }

    override func finish(_ error: CurlewError?) async -> Result<ReceivedBody, CurlewError> {
        // Behind the opening, and the end of a part that is of no use, where those are still to come.
        await lane.barrier()
        switch state.withLock({ $0 }) {
        case .waiting: return error.map { .failure($0) } ?? .success(.none)
        case .failed(let failure): return .failure(error ?? failure)
        case .open(let opened):
            var ending = error ?? shortage(opened)
            if ending == nil { ending = await fetchOtherSegments(opened) }
            guard let ending else { return .success(.file(opened.file.url)) }
            let failure = request.isCancelled ? request.cancellation : ending
            isDecided = true
            let (download, received) = (download, received)
            await lane.carryOut { download.broke(opened, after: received, failure) }
            return .failure(failure)
        }
    }

    private func fetchOtherSegments(_ opened: OpenedDownload) async -> CurlewError? {
        guard case .segment(_, let progress, _) = opened.step, let exchange, !progress.current.isComplete else {
            return nil
        }
        return await SegmentedTransfer(
            request: download,
            transport: exchange.transport,
            lowered: exchange.lowered,
            budget: exchange.budget,
            opened: opened,
            progress: progress,
            lane: lane
        ).run()
    }

    /// A server may send less than the rest, and say so.
    private func shortage(_ opened: OpenedDownload) -> CurlewError? {
        guard case .rest = opened.step, expected >= 0, received != expected else { return nil }
        return CurlewError(.truncated, phase: .receive, reason: "\(received) of \(expected) bytes have come")
    }

    override var hasToSettle: Bool { true }

    override func settle(accepted: Bool, body: ReceivedBody) async throws(CurlewError) -> ReceivedBody {
        guard !isDecided, case .open(let opened) = state.withLock({ $0 }) else { return .none }
        let download = download
        guard accepted else {
            await lane.carryOut { download.rejected(opened) }
            return .none
        }
        do throws(CurlewError) {
            let url = try await lane.run { () throws(CurlewError) -> URL in
                do throws(CurlewError) { try opened.verify(unless: { download.isCancelled }) } catch {
                    download.rejected(opened)
                    throw error
                }
                download.settled()
                return try opened.move()
            }
            emit(.success(url))
            return .file(url)
        } catch {
            emit(.failure(error))
            throw error
        }
    }

    // MARK: Events

    override func emit(_ bytes: UnsafeRawBufferPointer, to events: EventSink) {
        let (task, reference, count, total, expected) =
            (task, request.sessionReference, Int64(bytes.count), received, expected)
        events.emitProgress {
            $0.urlSession(
                reference,
                downloadTask: task,
                didWriteData: count,
                totalBytesWritten: total,
                totalBytesExpectedToWrite: expected
            )
        }
    }

    private func emitResume(at offset: Int64) {
        guard let events else { return }
        let (task, reference, expected) = (task, request.sessionReference, expected)
        events.emitExchange {
            $0.urlSession(
                reference,
                downloadTask: task,
                didResumeAtOffset: offset,
                expectedTotalBytes: expected
            )
        }
    }

    private func emit(_ result: Result<URL, CurlewError>) {
        guard let events else { return }
        let (task, reference, request) = (task, request.sessionReference, download)
        events.emitLeading { $0.request(request, didFinishDownloadingUsing: task, with: result) }
        guard case .success(let url) = result else { return }
        events.emitExchange { $0.urlSession(reference, downloadTask: task, didFinishDownloadingTo: url) }
        events.emitLeading { $0.request(request, didCreateDestinationURL: url) }
    }
}
