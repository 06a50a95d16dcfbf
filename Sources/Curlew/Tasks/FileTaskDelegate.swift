internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// Collects the body of a data request in a file, because the user has turned the request into a download.
///
/// The file is opened for the first bytes: a response without a body has no file. A file lane opens it while the
/// exchange is paused, because that blocks and calls user code.
final class FileTaskDelegate: TaskDelegate, UnplacedFile {
    private enum State {
        case chosen
        case opening
        case open(OpenedDownload)
        case failed(CurlewError)
    }

    private let lane = FileLane.next()
    private let state = Lock(State.chosen)
    /// The bytes that were written.
    private let position = Lock<Int64>(0)
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

    /// Opens the file on its lane, and then resumes the exchange.
    private func open(_ control: (any TransferControl)?) {
        lane.enqueue { [self] in
            do {
                let opened = try opening.open()
                request.context.configuration.decisions?.didBecomeDownload?(request, opened.file.url)
                state.withLock { $0 = .open(opened) }
            } catch {
                let failure = (error as? CurlewError) ?? .downloadFailed(error)
                state.withLock { $0 = .failed(failure) }
            }
            control?.resumeReceiving()
        }
    }

    func untilReady() async { await lane.barrier() }

    /// Writes bytes to the file. The first call opens it and pauses the exchange: the transport delivers them again.
    func receive(_ bytes: UnsafeRawBufferPointer, of data: Data?, in exchange: Exchange) -> Disposition {
        let before = state.withLock { state in
            let before = state
            if case .chosen = state { state = .opening }
            return before
        }
        switch before {
        case .chosen:
            open(exchange.control)
            return .pause
        case .opening: return .pause
        case .failed(let error): return .abort(error)
        case .open(let opened):
            do throws(CurlewError) {
                try opened.write(bytes, at: position.withLock { $0 })
            } catch {
                return .abort(error)
            }
            position.withLock { $0 += Int64(bytes.count) }
            exchange.received(bytes)
            return .proceed
        }
    }

    func close(_ error: CurlewError?, of exchange: Exchange) async -> CollectedBody {
        // The lane works in order, so this waits for the opening.
        await lane.barrier()
        switch state.withLock({ $0 }) {
        case .chosen, .opening: return CollectedBody(error: error, file: self)
        case .failed(let failure): return CollectedBody(error: error ?? failure, file: self)
        case .open(let opened):
            guard let error else { return CollectedBody(body: .file(opened.file.url), file: self) }
            await lane.carryOut { opened.discard() }
            return CollectedBody(error: error)
        }
    }

    func place(ifAccepted isAccepted: Bool) async throws(CurlewError) -> ReceivedBody {
        guard case .open(let opened) = state.withLock({ $0 }) else { return .none }
        guard isAccepted else {
            await lane.carryOut { opened.discard() }
            return .none
        }
        return .file(try await lane.run { () throws(CurlewError) -> URL in try opened.move() })
    }
}
