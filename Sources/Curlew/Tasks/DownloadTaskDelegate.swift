internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// Writes a response's body to a file next to its destination, and moves it there when the response was accepted.
///
/// The destination is user code, and opening a file blocks: a file lane does both while the exchange is paused between
/// head and body.
final class DownloadTaskDelegate: TaskDelegate {
    private let download: DownloadRequest
    private let asked: RequestedRange
    private let lane = FileLane.next()
    private let state = Lock(State())

    private struct State {
        var file = File.waiting
        /// The position of the next byte: in the file, or in its segment.
        var position: Int64 = 0
        /// The length of the file. -1 if it is unknown.
        var expected: Int64 = -1
        /// The position at which a part ends, according to its head. Its body must not be longer. `nil` if the response
        /// is not a part.
        var end: Int64?
    }

    private enum File {
        case waiting
        case open(OpenedDownload)
        case failed(CurlewError)
    }

    init(_ request: DownloadRequest) {
        download = request
        asked = request.requestedRange(of: request.request)
    }

    // MARK: The head

    func begin(_ response: LazyResponse, in exchange: Exchange) -> Disposition {
        let head = response.head
        state.withLock { $0.expected = head.lengthOfDecodedBody }
        guard let step = step(after: head, exchange) else { return .abort(download.askAgain(on: lane)) }
        // A part that is stored as the whole file: the user's request has a range, or the part covers the whole file.
        if case .wholeFile = step, exchange.sent.method != .head, let length = ResumePlan.lengthOfPart(head) {
            state.withLock { $0.end = length }
        }
        open(step, head, exchange)
        return .pause
    }

    /// Returns the use of the response, or `nil` if neither the response nor the part on disk is useful.
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
            case .askAgain: return nil
            case .unrelated: return .unrelated
            }
        case .segment(let index, let part, let plan):
            switch plan.decision(for: head, segment: index) {
            case .write: return segment(index, plan, part, exchange)
            case .startOver: return nil
            case .unrelated: return .unrelated
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
            continues(at: plan.offset, of: total, upTo: total, exchange)
            emitResume(at: plan.offset, exchange)
            return .rest(of: part, at: plan.offset)
        case .startOver: return .wholeFile
        case .alreadyComplete:
            // Nothing was left to download. Users see the status that the rest of the file would have had.
            exchange.state.withLock { $0.showResponse(as: 206) }
            continues(at: part.bytesWritten, of: part.bytesWritten, exchange)
            return .nothing(complete: part)
        case .askAgain: return nil
        case .unrelated: return .unrelated
        }
    }

    private func segment(
        _ index: Int,
        _ plan: SegmentPlan,
        _ part: ResumeData?,
        _ exchange: Exchange
    ) -> DownloadStep {
        // `position` is within the segment, while users see the progress of the whole file.
        let segment = plan.segments.isEmpty ? nil : plan.segments[index]
        continues(at: segment?.position ?? 0, of: plan.total, upTo: segment?.end, exchange)
        exchange.continues(TransferCount(completed: plan.bytesWritten, total: plan.total))
        if part != nil { emitResume(at: plan.bytesWritten, exchange) }
        return .segment(index, SegmentProgress(plan), of: part)
    }

    /// Sets the position at which the body continues the file, and reports it as progress.
    private func continues(at offset: Int64, of total: Int64, upTo end: Int64? = nil, _ exchange: Exchange) {
        state.withLock { state in
            state.position = offset
            state.expected = total
            state.end = end
        }
        exchange.continues(TransferCount(completed: offset, total: total))
    }

    private func open(_ step: DownloadStep, _ head: ResponseHead, _ exchange: Exchange) {
        let (control, shown) = exchange.state.withLock { ($0.control, $0.response) }
        guard let response = shown else { return }
        let opening = DownloadOpening(
            step: step,
            response: response,
            destination: download.downloadDestination(unless: download.destination),
            checksums: download.download.withLock { $0.checksums },
            isCancelled: { [download] in download.isCancelled }
        )
        let total = state.withLock { $0.expected }
        lane.enqueue { [self] in
            do {
                let opened = try opening.open()
                download.recordFile(of: step, head, total: total, in: opened.file.url)
                download.noteBeginning(to: opened.target)
                state.withLock { $0.file = .open(opened) }
            } catch {
                let failure: CurlewError =
                    error is DownloadOpening.PartIsGone
                    ? download.askAgain(on: lane) : (error as? CurlewError) ?? .downloadFailed(error)
                state.withLock { $0.file = .failed(failure) }
            }
            control?.resumeReceiving()
        }
    }

    func untilReady() async { await lane.barrier() }

    // MARK: The body

    func receive(_ bytes: UnsafeRawBufferPointer, of data: Data?, in exchange: Exchange) -> Disposition {
        let (file, position, end) = state.withLock { ($0.file, $0.position, $0.end) }
        switch file {
        case .waiting: return .pause
        case .failed(let error): return .abort(error)
        case .open(let opened):
            // The file is complete, so the bytes of an error page must not count as progress.
            if case .nothing = opened.step { return .proceed }
            if let end, Int64(bytes.count) > end - position { return .abort(.partIsTooLong) }
            do throws(CurlewError) { try opened.write(bytes, at: position) } catch { return .abort(error) }
            wrote(bytes.count, to: opened, exchange)
            return .proceed
        }
    }

    private func wrote(_ count: Int, to opened: OpenedDownload, _ exchange: Exchange) {
        let (position, expected) = state.withLock { state in
            state.position += Int64(count)
            return (state.position, state.expected)
        }
        switch opened.step {
        case .segment(let index, let progress, _):
            exchange.received(progress.wrote(count, inSegment: index))
            download.noteSegments(progress, on: lane)
        case .wholeFile, .rest, .unrelated, .nothing:
            exchange.received(TransferCount(completed: position, total: expected))
        }
        emitWritten(Int64(count), upTo: position, of: expected, exchange)
    }

    // MARK: The end

    func close(_ error: CurlewError?, of exchange: Exchange) async -> CollectedBody {
        var collected = await collected(error, exchange)
        collected.startsOver = download.download.withLock { Swift.exchange(&$0.asksAgain, with: false) }
        return collected
    }

    private func collected(_ error: CurlewError?, _ exchange: Exchange) async -> CollectedBody {
        // The lane works in order, so this waits for the opening and for the removal of a useless part.
        await lane.barrier()
        let (file, position) = state.withLock { ($0.file, $0.position) }
        switch file {
        case .waiting: return CollectedBody(error: error)
        case .failed(let failure): return CollectedBody(error: error ?? failure)
        case .open(let opened):
            var ending = error ?? shortage(opened)
            if ending == nil { ending = await fetchOtherSegments(opened, exchange) }
            guard let ending else { return complete(opened, exchange) }
            let failure = download.isCancelled ? download.cancellation : ending
            let download = download
            await lane.carryOut { download.keepPart(of: opened, after: position, failure) }
            return CollectedBody(error: failure)
        }
    }

    private func complete(_ opened: OpenedDownload, _ exchange: Exchange) -> CollectedBody {
        var collected = CollectedBody(body: .file(opened.file.url))
        // The file was complete before, so the error page is not validated.
        if case .nothing = opened.step { collected.verdict = .accepted }
        collected.file = CompleteDownload(request: download, opened: opened, lane: lane, exchange: exchange)
        return collected
    }

    private func fetchOtherSegments(_ opened: OpenedDownload, _ exchange: Exchange) async -> CurlewError? {
        guard case .segment(_, let progress, _) = opened.step, !progress.current.isComplete else { return nil }
        return await SegmentedTransfer(
            request: download,
            exchange: exchange,
            opened: opened,
            progress: progress,
            lane: lane
        ).run()
    }

    /// Returns an error if the part is incomplete: a server may send less than the rest, and announce that.
    private func shortage(_ opened: OpenedDownload) -> CurlewError? {
        // The missing bytes of a segment are fetched with the other segments.
        if case .segment = opened.step { return nil }
        let (position, end) = state.withLock { ($0.position, $0.end) }
        guard let end, position != end else { return nil }
        return CurlewError(.truncated, phase: .receive, reason: "\(position) of \(end) bytes were received")
    }

    // MARK: Events

    private func emitWritten(_ count: Int64, upTo position: Int64, of expected: Int64, _ exchange: Exchange) {
        guard let events = exchange.events else { return }
        let (task, download) = (exchange.task, download)
        events.emitPiece {
            $0.request(
                download,
                task: task,
                didWriteData: count,
                totalBytesWritten: position,
                totalBytesExpectedToWrite: expected
            )
        }
    }

    private func emitResume(at offset: Int64, _ exchange: Exchange) {
        guard let events = exchange.events else { return }
        let (task, download, expected) = (exchange.task, download, state.withLock { $0.expected })
        events.emitExchange {
            $0.request(
                download,
                task: task,
                didResumeAtOffset: offset,
                expectedTotalBytes: expected
            )
        }
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
            await lane.carryOut { request.discard(opened) }
            return .none
        }
        do throws(CurlewError) {
            let url = try await lane.run { () throws(CurlewError) -> URL in
                do throws(CurlewError) { try opened.verify(unless: { request.isCancelled }) } catch {
                    request.discard(opened)
                    throw error
                }
                if case .unrelated = opened.step {
                    // If the move fails, the part of the file is kept, as if the error page had been rejected.
                    let url = try opened.move()
                    request.acceptErrorPage()
                    return url
                }
                request.forgetPart()
                return try opened.move()
            }
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
