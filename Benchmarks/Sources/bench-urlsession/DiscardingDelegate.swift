internal import BenchmarkSupport
internal import Foundation
internal import FoundationNetworking

/// Counts the bytes of bodies, and discards them.
// SAFETY: `waiting` is used only under `lock`.
final class DiscardingDelegate: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private let tally: Tally
    private let lock = NSLock()
    private var waiting: [Int: CheckedContinuation<URLResponse?, any Error>] = [:]

    init(tally: Tally) { self.tally = tally }

    func run(_ makeTask: () -> URLSessionTask) async throws -> URLResponse? {
        let task = makeTask()
        return try await withCheckedThrowingContinuation { continuation in
            lock.withLock { waiting[task.taskIdentifier] = continuation }
            task.resume()
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        tally.add(bytes: data.count)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        tally.add(bytes: Int(bytesSent))
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let continuation = lock.withLock { waiting.removeValue(forKey: task.taskIdentifier) }
        if let error { continuation?.resume(throwing: error) } else { continuation?.resume(returning: task.response) }
    }
}
