internal import CurlewCore
internal import CurlewLocks
public import Foundation
public import FoundationNetworking

// The request's progress and milestones as streams, which end with the request.
extension Request {
    /// How much of the body has gone out, each time that changes.
    public func uploadProgress(
        bufferingPolicy: StreamOf<Progress>.BufferingPolicy = .bufferingNewest(1)
    ) -> StreamOf<Progress> {
        let reporter = reporter(\.uploadProgress)
        return StreamOf(bufferingPolicy: bufferingPolicy) { reporter.add($0) }
    }

    /// How much of the body has come, each time that changes.
    public func downloadProgress(
        bufferingPolicy: StreamOf<Progress>.BufferingPolicy = .bufferingNewest(1)
    ) -> StreamOf<Progress> {
        let reporter = reporter(\.downloadProgress)
        return StreamOf(bufferingPolicy: bufferingPolicy) { reporter.add($0) }
    }

    /// The final `URLRequest` of every try.
    public func urlRequests(
        bufferingPolicy: StreamOf<URLRequest>.BufferingPolicy = .unbounded
    ) -> StreamOf<URLRequest> {
        stream(bufferingPolicy, last: lastRequest) { $0 }
    }

    /// The identifier of every exchange.
    public func urlSessionTasks(
        bufferingPolicy: StreamOf<TaskIdentifier>.BufferingPolicy = .unbounded
    ) -> StreamOf<TaskIdentifier> {
        stream(bufferingPolicy, last: lastTask) { $0 }
    }

    /// Every try as a command line.
    public func cURLDescriptions(
        bufferingPolicy: StreamOf<String>.BufferingPolicy = .unbounded
    ) -> StreamOf<String> {
        stream(
            bufferingPolicy, last: record.withLock { !$0.requests.isEmpty } ? CURLCommand(text: cURLDescription()) : nil
        ) {
            (command: CURLCommand) in command.text
        }
    }

    /// A stream made from what the request sends of one type. `last` is a value that has been sent before.
    func stream<Sent: Sendable, Element: Sendable>(
        _ policy: StreamOf<Element>.BufferingPolicy,
        last: Sent?,
        _ transform: @escaping @Sendable (Sent) -> Element?
    ) -> StreamOf<Element> {
        StreamOf(bufferingPolicy: policy) { continuation in
            let stream = MappedRequestStream(continuation: continuation, transform: transform)
            if let last { stream.send(last) }
            let hasEnded = record.withLock { record in
                if record.result == nil { record.hooks.streams.append(stream) }
                return record.result != nil
            }
            if hasEnded { continuation.finish() }
        }
    }
}
