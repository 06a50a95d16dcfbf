internal import CurlewCore
internal import Foundation

/// Keeps a response's body in memory, up to a limit.
class DataTaskDelegate: TaskDelegate, @unchecked Sendable {
    // SAFETY: as for `TaskDelegate`: one owner at a time.

    @exclusivity(unchecked) private var data: Data?
    private let limit: Int

    init(request: Request, task: TaskIdentifier, url: URL, events: EventSink?, limit: Int) {
        self.limit = limit
        super.init(request: request, task: task, url: url, events: events)
    }

    override func take(_ bytes: UnsafeRawBufferPointer) -> Disposition {
        guard bytes.count <= limit - (data?.count ?? 0) else {
            return .abort(
                CurlewError(.limitExceeded, phase: .receive, reason: "the body is larger than \(limit) bytes")
            )
        }
        if data == nil {
            var first = Data()
            // A length is a promise: believed only so far.
            if expected > Int64(bytes.count) { first.reserveCapacity(Int(min(expected, Int64(limit), 4 << 20))) }
            data = first
        }
        data?.append(contentsOf: bytes)
        return .proceed
    }

    override func finishAtOnce(_ error: CurlewError?) -> Result<ReceivedBody, CurlewError>? {
        let body: ReceivedBody = data.map { .data($0) } ?? .none
        data = nil
        guard let error else { return .success(body) }
        // What came before the failure stays visible.
        request.keep(body)
        return .failure(error)
    }
}

/// A data exchange that sends a body of its own.
final class UploadTaskDelegate: DataTaskDelegate, @unchecked Sendable {
    // SAFETY: as for `TaskDelegate`: one owner at a time.
}
