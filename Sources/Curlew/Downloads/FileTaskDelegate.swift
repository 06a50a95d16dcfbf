internal import CurlewCore
internal import Foundation

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
