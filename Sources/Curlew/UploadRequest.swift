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

    /// Makes the body of every attempt.
    package let makeUploadable: @Sendable () throws -> Uploadable
    private let preparation: (@Sendable () async -> Void)?

    init(
        _ convertible: any URLRequestConvertible,
        session: Session,
        interceptor: __shared (any RequestInterceptor)?,
        shouldAutomaticallyResume: Bool?,
        preparation: (@Sendable () async -> Void)? = nil,
        uploadable: @escaping @Sendable () throws -> Uploadable
    ) {
        makeUploadable = uploadable
        self.preparation = preparation
        super.init(
            .other(convertible),
            session: session,
            interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume
        )
    }

    /// The body of the last attempt. `nil` before the first one is made.
    public var uploadable: Uploadable? { record.withLock { $0.history.uploadable } }

    override var bodyPreparation: (@Sendable () async -> Void)? { preparation }

    override func makeUpload(events: EventSink?) throws(CurlewError) -> Uploadable? {
        do {
            let made = try makeUploadable()
            let former = record.withLock { exchange(&$0.history.uploadable, with: made) }
            // Removed here, because the next body may be written to the same path later. The closure may also return
            // the same file again, which must be kept.
            if let former, !former.isFile(of: made) { former.removeOwnFile() }
            events?.emit { [self] in $0.request(self, didCreateBody: .success(made)) }
            return made
        } catch {
            let failure = ErrorWrapping.uploadable(error)
            events?.emit { [self] in $0.request(self, didCreateBody: .failure(failure)) }
            throw failure
        }
    }

    override var hasToCleanUp: Bool { true }

    override func cleanUp() async {
        guard let uploadable, uploadable.hasOwnFile else { return }
        await FileLane.next().carryOut { uploadable.removeOwnFile() }
    }

    override func cleanUpWithoutRun() {
        guard let uploadable, uploadable.hasOwnFile else { return }
        FileLane.next().enqueue { uploadable.removeOwnFile() }
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
