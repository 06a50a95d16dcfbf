internal import CurlewCore
internal import CurlewLocks
public import Foundation
internal import FoundationNetworking

/// A request whose response body goes into a file.
///
///     let file = try await session.download(url, to: destination).file()
///
/// The bytes grow in a private file beside the destination, and get their final name in one step when the
/// response was found acceptable. A failed or cancelled download leaves nothing behind.
public final class DownloadRequest: Request, @unchecked Sendable {
    // SAFETY: every stored property is a `let` of a Sendable type; what changes sits behind locks.

    /// What a download starts from.
    public enum Downloadable: Sendable {
        /// A request.
        case request(any URLRequestConvertible)
        /// What an earlier download left behind.
        case resumeData(Data)
    }

    /// What this download starts from.
    public let downloadable: Downloadable
    let destination: Destination?

    init(
        _ downloadable: Downloadable,
        session: Session,
        options: RequestOptions,
        shouldAutomaticallyResume: Bool?,
        destination: Destination?
    ) {
        self.downloadable = downloadable
        self.destination = destination
        super.init(session: session, options: options, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// Where the file is once it is complete.
    public var fileURL: URL? { record.withLock { $0.body.fileURL } }

    /// What a later request can continue this download with.
    public var resumeData: Data? { record.withLock { $0.resumeData } }

    override var producedResumeData: Data? { resumeData }
    override var purpose: TransferPurpose { .file }

    override func makeURLRequest() throws -> URLRequest {
        switch downloadable {
        case .request(let convertible): return try convertible.asURLRequest()
        case .resumeData:
            throw CurlewError(.resumeRejected, phase: .creation, reason: "the data does not describe a download")
        }
    }

    override func makeDelegate(
        task: TaskIdentifier,
        url: URL,
        events: EventSink?,
        upload: UploadRequest.Uploadable?
    ) -> TaskDelegate {
        DownloadTaskDelegate(request: self, task: task, url: url, events: events, destination: destination)
    }

    // MARK: Cancelling

    /// Cancels the download, and keeps what is needed to go on with it later if asked to and possible.
    @discardableResult
    public func cancel(producingResumeData shouldProduceResumeData: Bool) -> Self {
        cancel()
    }
}
