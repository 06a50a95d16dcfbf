internal import CurlewCore
internal import CurlewLocks
public import Foundation
package import FoundationNetworking

// The request's progress and milestones as streams, which end with the request. The request does not wait for their
// readers: values that exceed the buffer are dropped.
extension Request {
    /// The progress of the upload as a sequence. It begins with the latest value, has at most one value per `interval`,
    /// and always ends with the last value.
    public func uploadProgress(
        every interval: Duration = .milliseconds(50),
        bufferingPolicy: StreamOf<Progress>.BufferingPolicy = .bufferingNewest(1)
    ) -> StreamOf<Progress> {
        let reporter = reporter(\.uploadProgress)
        return StreamOf(bufferingPolicy: bufferingPolicy) { reporter.add($0, every: interval) }
    }

    /// The progress of the download as a sequence. It begins with the latest value, has at most one value per
    /// `interval`, and always ends with the last value.
    public func downloadProgress(
        every interval: Duration = .milliseconds(50),
        bufferingPolicy: StreamOf<Progress>.BufferingPolicy = .bufferingNewest(1)
    ) -> StreamOf<Progress> {
        let reporter = reporter(\.downloadProgress)
        return StreamOf(bufferingPolicy: bufferingPolicy) { reporter.add($0, every: interval) }
    }

    /// The final `URLRequest`s of all attempts.
    package func createdRequests(_ policy: StreamOf<URLRequest>.BufferingPolicy) -> StreamOf<URLRequest> {
        stream(policy, last: { $0.history.toldRequest }) { $0 }
    }

    /// The identifiers of all exchanges.
    package func createdTasks(_ policy: StreamOf<TaskIdentifier>.BufferingPolicy) -> StreamOf<TaskIdentifier> {
        stream(policy, last: { $0.history.lastTask }) { $0 }
    }

    /// The cURL commands of all attempts.
    public func cURLDescriptions(
        bufferingPolicy: StreamOf<String>.BufferingPolicy = .bufferingNewest(100)
    ) -> StreamOf<String> {
        stream(
            bufferingPolicy,
            last: { record in
                record.history.toldRequest.map { _ in CURLCommand(text: self.cURLDescription(of: record)) }
            }
        ) { (command: CURLCommand) in command.text }
    }

    /// Returns a stream of the values of one type that the request sends. `last` returns the latest earlier value; it
    /// must not take the request's locks.
    func stream<Sent: Sendable, Element: Sendable>(
        _ policy: StreamOf<Element>.BufferingPolicy,
        last: (RequestRecord) -> Sent?,
        _ transform: @escaping @Sendable (Sent) -> Element?
    ) -> StreamOf<Element> {
        StreamOf(bufferingPolicy: policy) { continuation in
            let stream = MappedRequestStream(continuation: continuation, transform: transform)
            // Under the lock: the last value was sent before, all later ones follow, and the order is kept.
            let hasEnded = record.withLock { record in
                if let last = last(record) { stream.send(last) }
                if record.lifecycle.result == nil { record.ownExtras.hooks.streams.append(stream) }
                return record.lifecycle.result != nil
            }
            if hasEnded { continuation.finish() }
        }
    }
}
