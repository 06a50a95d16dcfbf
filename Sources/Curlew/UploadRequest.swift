package import CurlewCore
internal import CurlewLocks
public import Foundation
internal import FoundationNetworking

/// A request that sends a body of its own: data, a file, a stream or a form.
// SAFETY: every stored property is a `let` of a Sendable type; what changes sits behind locks.
public final class UploadRequest: DataRequest, @unchecked Sendable {
    /// The body of one try.
    public enum Uploadable: Sendable {
        /// Bytes in memory.
        case data(Data)
        /// `shouldRemove`: the file is Curlew's. It goes when the request has ended, or has made another body for its next try.
        case file(URL, shouldRemove: Bool)
        /// Bytes from a stream. With nil as their length they are sent in chunks.
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

    /// Makes the body of every try.
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

    /// The body of the last try; nil before there is one.
    public var uploadable: Uploadable? { record.withLock { $0.history.uploadable } }

    override var bodyPreparation: (@Sendable () async -> Void)? { preparation }

    override func makeUpload(events: EventSink?) throws(CurlewError) -> Uploadable? {
        do {
            let made = try makeUploadable()
            let former = record.withLock { exchange(&$0.history.uploadable, with: made) }
            // At once, where the new body was made as well: later, the path could be that of the next one.
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

    /// Whether both are one file: what makes a body may give the same one for every try.
    fileprivate func isFile(of other: Self) -> Bool {
        guard case .file(let url, _) = self, case .file(let otherURL, _) = other else { return false }
        return url == otherURL || url.resolvingSymlinksInPath().path == otherURL.resolvingSymlinksInPath().path
    }

    /// Blocks. Removes nothing that is not Curlew's.
    func removeOwnFile() {
        guard case .file(let url, shouldRemove: true) = self else { return }
        try? FileManager.default.removeItem(at: url)
    }
}
