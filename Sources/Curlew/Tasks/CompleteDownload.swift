internal import CurlewCore
internal import Foundation

/// A download whose bytes have all arrived, under its temporary name.
struct CompleteDownload: UnsettledFile {
    let request: DownloadRequest
    let opened: OpenedDownload
    let lane: FileLane
    let exchange: ExchangeContext

    func settle(accepted: Bool) async throws(CurlewError) -> ReceivedBody {
        let (request, opened) = (request, opened)
        guard accepted else {
            await lane.carryOut { request.rejected(opened) }
            return .none
        }
        do throws(CurlewError) {
            let url = try await lane.run { () throws(CurlewError) -> URL in
                do throws(CurlewError) { try opened.verify(unless: { request.isCancelled }) } catch {
                    request.rejected(opened)
                    throw error
                }
                if case .aside = opened.step {
                    // If the move fails, the part of the file is kept, as if the error page had been rejected.
                    let url = try opened.move()
                    request.settledWithoutPart()
                    return url
                }
                request.settled()
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
