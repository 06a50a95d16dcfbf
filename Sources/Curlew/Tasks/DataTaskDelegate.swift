internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// Keeps a response's body in memory, up to a limit. The bytes are stored in the request, for users who read the body
/// while it arrives.
final class DataTaskDelegate: TaskDelegate, KeepingSink {
    let exchange: ExchangeContext

    init(_ exchange: ExchangeContext) { self.exchange = exchange }

    func begin(_ head: ResponseHead) -> Disposition { .proceed }

    func didReceive(body bytes: UnsafeRawBufferPointer) -> Disposition { take(bytes, of: nil) }

    func didReceive(data: Data) -> Disposition { data.withUnsafeBytes { take($0, of: data) } }

    /// Takes bytes. `data` is the object that holds them, if it may be stored.
    private func take(_ bytes: UnsafeRawBufferPointer, of data: Data?) -> Disposition {
        switch exchange.request.keep(bytes, of: data) {
        case .kept:
            exchange.emit(bytes)
            return .proceed
        case .tooLarge(let limit):
            return exchange.abort(
                CurlewError(.limitExceeded, phase: .receive, reason: "the body is larger than \(limit) bytes")
            )
        case .notTaken(let passage): return exchange.pass(bytes, passage) ?? .pause
        }
    }

    func untilReady() async {}

    func collected(_ error: CurlewError?, _ ended: EndedExchange) -> CollectedBody? {
        ended.file == nil ? CollectedBody(error: error) : nil
    }

    func closed(_ error: CurlewError?, _ ended: EndedExchange) async -> CollectedBody {
        await ended.file?.closed(error) ?? CollectedBody(error: error)
    }
}

extension Request {
    /// The outcome of storing bytes of a body.
    enum Intake {
        case kept
        case tooLarge(limit: Int)
        /// They are not for the memory, or not yet.
        case notTaken(TransferState.Passage)
    }

    /// Stores the next bytes of the body, in one step under the lock.
    func keep(_ bytes: UnsafeRawBufferPointer, of data: Data?) -> Intake {
        let (intake, news) = record.withLock { record -> (Intake, (ProgressReporter, TransferCount)?) in
            let passage = record.transfer.passage(of: bytes)
            guard case .take = passage else { return (.notTaken(passage), nil) }
            let limit = record.extras?.options.maximumBodySize ?? context.configuration.maximumBodySize
            guard record.transfer.keep(bytes, of: data, limit: limit) else { return (.tooLarge(limit: limit), nil) }
            return (.kept, record.extras?.hooks.downloadProgress.map { ($0, record.transfer.download) })
        }
        if let (reporter, count) = news { reporter.report(count) }
        return intake
    }
}
