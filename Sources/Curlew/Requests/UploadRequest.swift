package import CurlewCore
internal import CurlewLocks
public import Foundation
internal import FoundationNetworking

/// A request that sends a body: data, a file, a stream or a form.
// SAFETY: every stored property is a `let` of a Sendable type; mutable state is protected by locks.
public final class UploadRequest: DataRequest, @unchecked Sendable {
    /// The body of one attempt.
    public enum Uploadable: Sendable {
        /// Bytes in memory.
        case data(Data)
        /// A file. With `shouldRemove` it belongs to Curlew, which removes it when the request has ended, or has made
        /// another body for its next attempt.
        case file(URL, shouldRemove: Bool)
        /// Bytes from a stream. Without a length they are sent in chunks.
        case stream(any BodyStream, length: Int64?)

        package init(_ source: BodySource) {
            switch source {
            case .none: self = .data(Data())
            case .data(let data): self = .data(data)
            case .file(let url, _): self = .file(url, shouldRemove: false)
            case .stream(let stream, let length): self = .stream(stream, length: length)
            }
        }

        var source: BodySource {
            switch self {
            case .data(let data): .data(data)
            case .file(let url, _): .file(url)
            case .stream(let stream, let length): .stream(stream, length: length)
            }
        }
    }

    init(
        _ convertible: any URLRequestConvertible,
        session: Session,
        interceptor: __shared (any RequestInterceptor)?,
        shouldAutomaticallyResume: Bool?,
        preparation: (@Sendable () async -> Void)? = nil,
        uploadable: @escaping @Sendable () throws -> Uploadable
    ) {
        super.init(
            RequestKind(
                source: .convertible(convertible), bodyMaker: BodyMaker(prepare: preparation, make: uploadable)),
            session: session,
            interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume
        )
    }

    /// The body of the last attempt. `nil` before the first one is made.
    public var uploadable: Uploadable? { kind.bodyMaker?.uploadable }

    /// Makes the body of every attempt.
    package var makeUploadable: @Sendable () throws -> Uploadable {
        if let bodyMaker = kind.bodyMaker { return bodyMaker.make }
        return { .data(Data()) }
    }
}

/// Makes the body of every attempt of a request, and removes the files that belong to Curlew.
final class BodyMaker: Sendable {
    typealias Uploadable = UploadRequest.Uploadable

    /// Makes the body of one attempt.
    let make: @Sendable () throws -> Uploadable
    /// Prepares the next attempt's body. May take long.
    private let prepare: (@Sendable () async -> Void)?
    private let current = Lock<Uploadable?>(nil)

    init(prepare: (@Sendable () async -> Void)? = nil, make: @escaping @Sendable () throws -> Uploadable) {
        self.prepare = prepare
        self.make = make
    }

    /// The body of the last attempt. `nil` before the first one is made.
    var uploadable: Uploadable? { current.withLock { $0 } }

    /// Makes the next attempt's body.
    func makeBody(for request: Request, _ events: EventSink?) async throws(CurlewError) -> BodySource {
        if let prepare { await prepare() }
        do {
            let made = try make()
            let former = current.withLock { exchange(&$0, with: made) }
            // Removed here, because the next body may be written to the same path later. The closure may also return
            // the same file again, which must be kept.
            if let former, !former.isFile(of: made) { former.removeOwnFile() }
            emit(.success(made), for: request, events)
            return made.source
        } catch {
            let failure = ErrorWrapping.uploadable(error)
            emit(.failure(failure), for: request, events)
            throw failure
        }
    }

    /// Replaces a body that can be read only once by another one, which the user has made.
    func replace(by body: BodySource, for request: Request, _ events: EventSink?) {
        let made = Uploadable(body)
        _ = current.withLock { exchange(&$0, with: made) }
        emit(.success(made), for: request, events)
    }

    private func emit(_ result: Result<Uploadable, CurlewError>, for request: Request, _ events: EventSink?) {
        guard let upload = request as? UploadRequest else { return }
        events?.emit { $0.request(upload, didCreateBody: result) }
    }

    func cleanUp() async {
        guard let uploadable, uploadable.hasOwnFile else { return }
        await FileLane.next().carryOut { uploadable.removeOwnFile() }
    }
}

extension UploadRequest.Uploadable {
    fileprivate var hasOwnFile: Bool {
        if case .file(_, shouldRemove: true) = self { true } else { false }
    }

    /// Returns whether both are the same file: the closure that makes bodies may return one file for every attempt.
    fileprivate func isFile(of other: Self) -> Bool {
        guard case .file(let url, _) = self, case .file(let otherURL, _) = other else { return false }
        return url == otherURL || url.resolvingSymlinksInPath().path == otherURL.resolvingSymlinksInPath().path
    }

    /// Removes the file if it belongs to Curlew. Blocks.
    func removeOwnFile() {
        guard case .file(let url, shouldRemove: true) = self else { return }
        try? FileManager.default.removeItem(at: url)
    }
}
