internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

// Moments of a try that users can hook into.
extension Request {
    /// The final `URLRequest` of a try exists.
    func created(_ urlRequest: URLRequest) {
        let (hooks, streams) = record.withLock { record in
            defer { record.hooks.onCURL = nil }
            return ((record.hooks.onRequestCreation, record.hooks.onCURL), record.hooks.streams)
        }
        hooks.0?.call(urlRequest)
        if hooks.1 != nil || streams.contains(where: { $0.wants(CURLCommand.self) }) {
            let command = CURLCommand(text: cURLDescription())
            hooks.1?.call(command.text)
            for stream in streams { stream.send(command) }
        }
        for stream in streams { stream.send(urlRequest) }
    }

    /// There is no `URLRequest` to describe.
    func creationFailed() {
        let hook = record.withLock { record in exchange(&record.hooks.onCURL, with: nil) }
        hook?.call(cURLDescription())
    }

    /// An exchange is about to start.
    func begins(_ task: TaskIdentifier) {
        let (hook, streams) = record.withLock { record in
            record.tasks.append(task)
            record.task = task
            // An exchange that gets no answer must not be judged by an earlier one's.
            record.response = nil
            record.acceptedHead = nil
            return (record.hooks.onTaskCreation, record.hooks.streams)
        }
        hook?.call(task)
        for stream in streams { stream.send(task) }
    }
}

/// A request as a command line, told apart from other strings.
struct CURLCommand: Sendable {
    let text: String
}
