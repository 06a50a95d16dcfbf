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
        case .keptBack: return .proceed
        case .tooMuchToKeepBack: return exchange.tooMuchToKeepBack()
        case .wait: return .pause
        case .tooLarge(let limit):
            return exchange.abort(
                CurlewError(.limitExceeded, phase: .receive, reason: "the body is larger than \(limit) bytes")
            )
        case .wantsFile:
            return becomeDownload()
        case .intoFile(let file, let offset):
            let disposition = file.take(bytes, at: offset)
            switch disposition {
            case .proceed:
                exchange.request.received(bytes.count)
                exchange.emit(bytes)
            case .pause: break
            case .abort(let error): return exchange.abort(error)
            }
            return disposition
        }
    }

    /// Opens a file for the body. The transport has to deliver the bytes again when the file is open.
    private func becomeDownload() -> Disposition {
        guard let request = exchange.request as? DataRequest,
            let response = request.record.withLock({ $0.transfer.response })
        else { return .pause }
        let file = BodyFile(for: request, response)
        request.record.withLock { $0.transfer.file = file }
        file.open()
        return .pause
    }

    func untilReady() async { await exchange.request.record.withLock { $0.transfer.file }?.untilOpened() }

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
        case keptBack
        case tooMuchToKeepBack
        /// The transport has to deliver the bytes again.
        case wait
        case tooLarge(limit: Int)
        /// The user has turned the body into a download, whose file is not open yet.
        case wantsFile
        case intoFile(BodyFile, at: Int64)
    }

    /// Stores the next bytes of the body, in one step under the lock.
    func keep(_ bytes: UnsafeRawBufferPointer, of data: Data?) -> Intake {
        let (intake, news) = record.withLock { record -> (Intake, (ProgressReporter, TransferCount)?) in
            if let file = record.transfer.file { return (.intoFile(file, at: record.transfer.received), nil) }
            switch record.transfer.passage(of: bytes) {
            case .wait: return (.wait, nil)
            case .keptBack: return (.keptBack, nil)
            case .tooMuchToKeepBack: return (.tooMuchToKeepBack, nil)
            case .intoFile: return (.wantsFile, nil)
            case .take:
                let limit = record.extras?.options.maximumBodySize ?? context.configuration.maximumBodySize
                guard record.transfer.keep(bytes, of: data, limit: limit) else { return (.tooLarge(limit: limit), nil) }
                return (.kept, record.extras?.hooks.downloadProgress.map { ($0, record.transfer.download) })
            }
        }
        if let (reporter, count) = news { reporter.report(count) }
        return intake
    }
}
