package import CurlewCore
internal import CurlewLocks
package import Foundation
package import FoundationNetworking

// Properties that CurlewAlamofire reads in addition to the public ones.
extension Request {
    /// The request's session, in the form in which events refer to it.
    package var sessionReference: SessionReference {
        SessionReference(
            identifier: context.configuration.identifier,
            session: context.monitoredSession.withLock { $0 }?.session ?? record.withLock { $0.session }
        )
    }

    /// Whether response handlers were added.
    package var hasResponseHandlers: Bool { record.withLock { !$0.handlers.isEmpty } }

    /// The URL of the file that contains the body. `nil` if the body is not in a file.
    package var bodyFileURL: URL? { record.withLock { $0.body }.fileURL }

    /// The final `URLRequest` of the latest attempt, before redirects. `nil` before the first one exists.
    package var describedRequest: URLRequest? { record.withLock { $0.history.toldRequest } }

    /// The latest exchange.
    package var latestTask: TaskIdentifier? { record.withLock { $0.history.lastTask } }

    /// Whether the request has a result.
    package var hasEnded: Bool { record.withLock { $0.lifecycle.result != nil } }

    /// The configuration of the request's session.
    package var sessionConfiguration: SessionConfiguration { context.configuration }

    /// The credentials that the last `URLRequest` is sent with to `url`: after a redirect those that it kept, otherwise
    /// the request's own or else the session's for that origin.
    package func authentication(for url: URL) -> TransferAuthentication? {
        record.withLock { $0.authentication(for: url, in: context) }
    }

    /// The session's default fields that the last `URLRequest` is sent with to `url`.
    package func defaultHeaders(for url: URL) -> HTTPHeaders {
        record.withLock { $0.defaultHeaders(for: url, in: context) }
    }
}

extension ResponseHead {
    /// The head as an `HTTPURLResponse`. `nil` if Foundation cannot express it.
    package func response(from url: URL) -> HTTPURLResponse? { LazyResponse(url: url, head: self).value }
}

extension Request {
    /// A text that you attach to the request: for logs, and for finding a download again in another process.
    public var taskDescription: String? {
        get { record.withLock { $0.extras?.hooks.taskDescription } }
        set { record.withLock { $0.ownExtras.hooks.taskDescription = newValue } }
    }
}
