public import CurlewCore
internal import CurlewLocks
public import Foundation
internal import FoundationNetworking

/// The file that collects a data request's body, if the user has turned that into a download.
///
/// It is chosen by the answer to the head, and opened for the first bytes: a response without a body has no file. A file
/// lane opens it while the exchange is paused, because that blocks and calls user code.
final class BodyFile: UnsettledFile {
    private enum State {
        case chosen
        case opening
        case open(OpenedDownload)
        case failed(CurlewError)
    }

    private let lane = FileLane.next()
    private let state = Lock(State.chosen)

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
    private func open() {
        let control = request.record.withLock { $0.run.exchange?.control }
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

    /// Returns when the file has been opened, or could not be.
    func untilOpened() async { await lane.barrier() }

    /// Writes bytes to the file. The first call opens it and pauses the exchange: the transport delivers them again.
    func take(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> Disposition {
        let before = state.withLock { state in
            let before = state
            if case .chosen = state { state = .opening }
            return before
        }
        switch before {
        case .chosen:
            open()
            return .pause
        case .opening: return .pause
        case .failed(let error): return .abort(error)
        case .open(let opened):
            do throws(CurlewError) {
                try opened.write(bytes, at: offset)
                return .proceed
            } catch {
                return .abort(error)
            }
        }
    }

    func closed(_ error: CurlewError?) async -> CollectedBody {
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

    func settle(accepted: Bool) async throws(CurlewError) -> ReceivedBody {
        guard case .open(let opened) = state.withLock({ $0 }) else { return .none }
        guard accepted else {
            await lane.carryOut { opened.discard() }
            return .none
        }
        return .file(try await lane.run { () throws(CurlewError) -> URL in try opened.move() })
    }
}

extension Request {
    /// Returns the destination of a download. The session's hook takes precedence over the request's own destination.
    func downloadDestination(unless own: DownloadRequest.Destination?) -> DownloadRequest.Destination? {
        guard let hook = context.configuration.decisions?.downloadDestination else { return own }
        return { [self] url, response in
            hook(self, url, response) ?? own?(url, response) ?? (destinationURL: url, options: [])
        }
    }
}

extension DataRequest {
    /// The file of the body, if the request was turned into a download: see
    /// `Request.ResponseDisposition.becomeDownload`.
    public var fileURL: URL? { record.withLock { $0.transfer.body.fileURL } }

    /// Returns the file of the body. Throws if the request was not turned into a download.
    public func file() async throws(CurlewError) -> URL {
        let result = try judged(await outcome(checksStatus: true))
        guard let url = result.body.fileURL else {
            throw CurlewError.fileMissing(in: .decoding).located(in: result)
        }
        return url
    }
}

extension ReceivedBody {
    /// The bytes of the body, from memory or from the file.
    var contents: Data? {
        switch self {
        case .none, .streamed: nil
        case .data(let data): data
        // Mapped, because the file may exceed the limit for bodies in memory.
        case .file(let url): try? Data(contentsOf: url, options: .mappedIfSafe)
        }
    }
}
