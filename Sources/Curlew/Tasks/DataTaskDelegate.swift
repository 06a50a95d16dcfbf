internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// Keeps a response's body in memory, up to a limit.
// SAFETY: as for `TaskDelegate`: one owner at a time.
class DataTaskDelegate: TaskDelegate, @unchecked Sendable {
    private let limit: Int
    /// Where the body goes if it was turned into a download.
    private var file: BodyFile?

    init(request: Request, task: TaskIdentifier, url: URL, events: EventSink?, limit: Int) {
        self.limit = limit
        super.init(request: request, task: task, url: url, events: events)
    }

    override func becomeDownload() -> Disposition {
        guard let request = request as? DataRequest, let response = request.record.withLock({ $0.transfer.response })
        else {
            return .proceed
        }
        file = BodyFile(for: request, response)
        return .pause
    }

    override func take(_ bytes: UnsafeRawBufferPointer) -> Disposition {
        if let file { return file.take(bytes, at: received) }
        guard bytes.count <= Int64(limit) - received else {
            return .abort(
                CurlewError(.limitExceeded, phase: .receive, reason: "the body is larger than \(limit) bytes")
            )
        }
        return .proceed
    }

    // The bytes lie with the request, for those who want to see what has come so far.
    override func show(_ bytes: UnsafeRawBufferPointer, _ whole: TransferCount) {
        guard file == nil else { return super.show(bytes, whole) }
        // A length is a promise: believed only so far.
        request.received(whole, keeping: bytes, reserving: Int(min(expected, Int64(limit), 4 << 20)))
    }

    override func finish(_ error: CurlewError?) async -> Result<ReceivedBody, CurlewError> {
        if let file { return await file.finish(error) }
        guard let error else { return .success(.none) }
        // What came before the failure stays visible.
        request.keep(.none)
        return .failure(error)
    }

    override var hasToSettle: Bool { file != nil }

    override func settle(accepted: Bool, body: ReceivedBody) async throws(CurlewError) -> ReceivedBody {
        guard let file else { return body }
        return try await file.settle(accepted: accepted)
    }
}

/// A data exchange that sends a body of its own.
// SAFETY: as for `TaskDelegate`: one owner at a time.
final class UploadTaskDelegate: DataTaskDelegate, @unchecked Sendable {
}
