internal import CurlewCore
internal import Foundation

/// Keeps a response's body in memory, up to a limit.
// SAFETY: as for `TaskDelegate`: one owner at a time.
class DataTaskDelegate: TaskDelegate, @unchecked Sendable {
    private let limit: Int

    init(request: Request, task: TaskIdentifier, url: URL, events: EventSink?, limit: Int) {
        self.limit = limit
        super.init(request: request, task: task, url: url, events: events)
    }

    override func take(_ bytes: UnsafeRawBufferPointer) -> Disposition {
        guard bytes.count <= Int64(limit) - received else {
            return .abort(
                CurlewError(.limitExceeded, phase: .receive, reason: "the body is larger than \(limit) bytes")
            )
        }
        return .proceed
    }

    // The bytes lie with the request, for those who want to see what has come so far.
    override func show(_ bytes: UnsafeRawBufferPointer, _ whole: TransferCount) {
        // A length is a promise: believed only so far.
        request.received(whole, keeping: bytes, reserving: Int(min(expected, Int64(limit), 4 << 20)))
    }

    override func finishAtOnce(_ error: CurlewError?) -> Result<ReceivedBody, CurlewError>? {
        guard let error else { return .success(.none) }
        // What came before the failure stays visible.
        request.keep(.none)
        return .failure(error)
    }
}

/// A data exchange that sends a body of its own.
// SAFETY: as for `TaskDelegate`: one owner at a time.
final class UploadTaskDelegate: DataTaskDelegate, @unchecked Sendable {
}
