internal import CurlewCore
internal import CurlewLocks
internal import Foundation

extension DownloadRequest {
    /// Fetches the file with several concurrent requests, each for a part of it.
    ///
    ///     try await session.download(url, to: destination).segments(4).file()
    ///
    /// This helps if a single connection is slow and the server is not. The first request asks for the beginning of the
    /// file. If the server supports ranges and identifies the version of the file, the rest is divided; otherwise one
    /// stream fetches all of it. Parts of different versions are never combined. Progress, cancelling, resume data and
    /// retries concern the whole file.
    @discardableResult
    public func segments(_ count: Int) -> Self {
        downloadRecord.withLock { $0.segments = max(1, count) }
        return self
    }
}

/// Fetches the segments that the first exchange has not completed, all of them concurrently.
///
/// It does not retry: when one segment fails the others are stopped, and the received bytes are a part for the next
/// attempt.
struct SegmentedTransfer: Sendable {
    let request: DownloadRequest
    /// The first exchange. The others send its final request, after redirects and adapters, with other ranges and
    /// within the rest of its total timeout.
    let exchange: Exchange
    let opened: OpenedDownload
    let progress: SegmentProgress
    /// The lane of the first exchange.
    let lane: FileLane

    /// A response with fewer bytes counts as short, unless it completes its segment.
    private static let shortResponse: Int64 = 64 * 1024
    private static let maximumShortResponses = 8

    /// Returns the first error; `nil` if the file is complete.
    func run() async -> CurlewError? {
        let controls = CombinedControl()
        exchange.continueUnder(controls)
        let indices = progress.current.segments.indices
        return await withTaskGroup(of: CurlewError?.self) { group in
            for index in indices {
                group.addTask { await fetch(segment: index, controls) }
            }
            var first: CurlewError?
            for await failure in group {
                guard let failure, first == nil else { continue }
                first = failure
                controls.cancel(with: failure)
            }
            return first
        }
    }

    private func fetch(segment index: Int, _ controls: CombinedControl) async -> CurlewError? {
        // A server may send less than it was asked for. Without a limit, responses of one byte each would cause as many
        // requests as the file has bytes.
        var shortResponses = 0
        while let fields = progress.current.headers(forSegment: index) {
            var part = exchange.toSend
            for field in fields { part.headers.add(field) }
            part.options.decodesContent = false
            exchange.budget.apply(
                to: &part, describedBy: exchange.outgoing.transferRequest, in: exchange.request.context)
            let before = progress.current.segments[index].written
            let sink = SegmentSink(self, index: index, controls)
            do throws(CurlewError) {
                _ = try await exchange.sendIntercepted(part, over: exchange.session.transport, to: sink)
            } catch {
                return error
            }
            let segment = progress.current.segments[index]
            if segment.isComplete { return nil }
            if segment.written - before < Self.shortResponse { shortResponses += 1 }
            guard segment.written > before else {
                return CurlewError(.truncated, phase: .receive, reason: "the server sent an empty part of the file")
            }
            guard shortResponses < Self.maximumShortResponses else {
                return CurlewError(
                    .truncated, phase: .receive, reason: "the server sent less than was asked for, again and again")
            }
        }
        return nil
    }
}

/// Writes the bytes of one segment to their place in the file.
private final class SegmentSink: TransferSink {
    private let transfer: SegmentedTransfer
    private let index: Int
    private let controls: CombinedControl

    init(_ transfer: SegmentedTransfer, index: Int, _ controls: CombinedControl) {
        self.transfer = transfer
        self.index = index
        self.controls = controls
    }

    func willStart(_ control: any TransferControl) { controls.add(control, for: index) }

    func didReceive(head: ResponseHead) -> Disposition {
        switch transfer.progress.current.decision(for: head, segment: index) {
        case .write: return .proceed
        case .startOver:
            transfer.progress.setOutdated()
            return .abort(.downloadStartsOver)
        case .errorPage:
            return .abort(
                CurlewError(
                    .unacceptableStatus,
                    phase: .validation,
                    reason: "a part of the file was answered with status \(head.status)",
                    responseCode: head.status
                )
            )
        }
    }

    func didReceive(body: UnsafeRawBufferPointer) -> Disposition {
        let segment = transfer.progress.current.segments[index]
        guard Int64(body.count) <= segment.end - segment.position else {
            return .abort(.partIsTooLong)
        }
        do throws(CurlewError) { try transfer.opened.file.write(body, at: segment.position) } catch {
            return .abort(error)
        }
        transfer.exchange.updateReceived(to: transfer.progress.wrote(body.count, inSegment: index))
        transfer.request.journalSegments(transfer.progress, on: transfer.lane)
        return .proceed
    }
}

/// The progress of the segments of one file, shared by their exchanges.
final class SegmentProgress: Sendable {
    private struct State {
        var plan: SegmentPlan
        var isOutdated = false

        var count: TransferCount { TransferCount(completed: plan.bytesWritten, total: plan.total) }
    }

    private let state: Lock<State>

    init(_ plan: SegmentPlan) { state = Lock(State(plan: plan)) }

    var current: SegmentPlan { state.withLock { $0.plan } }

    /// Whether a response has shown that the server has another file, or has ceased to support ranges.
    var isOutdated: Bool { state.withLock { $0.isOutdated } }

    func setOutdated() { state.withLock { $0.isOutdated = true } }

    /// The count of the whole file.
    var count: TransferCount { state.withLock { $0.count } }

    /// Counts bytes of a segment. Returns the count of the whole file.
    func wrote(_ count: Int, inSegment index: Int) -> TransferCount {
        state.withLock { state in
            state.plan.wrote(Int64(count), inSegment: index)
            return state.count
        }
    }
}
