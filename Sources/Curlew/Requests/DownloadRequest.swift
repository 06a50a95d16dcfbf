internal import CurlewCore
internal import CurlewLocks
public import Foundation
internal import FoundationNetworking

/// A request whose response body is written to a file.
///
///     let file = try await session.download(url, to: destination).file()
///
/// The bytes are written to a private file next to the destination, which gets its final name in one step when the
/// response was accepted. A failed or cancelled download leaves no file, unless there is resume data, which refers to
/// the received part.
// SAFETY: every stored property is a `let` of a Sendable type; mutable state is protected by locks.
public final class DownloadRequest: Request, @unchecked Sendable {
    /// The starting point of a download.
    public enum Downloadable: Sendable {
        /// A new download, described by its request.
        case request(any URLRequestConvertible)
        /// The resume data of an earlier download.
        case resumeData(Data)
    }

    /// The starting point of this download.
    public let downloadable: Downloadable
    let destination: Destination?
    let download: Lock<DownloadRecord>

    init(
        _ downloadable: Downloadable,
        session: Session,
        interceptor: __shared (any RequestInterceptor)?,
        shouldAutomaticallyResume: Bool?,
        destination: Destination?
    ) {
        self.downloadable = downloadable
        self.destination = destination
        var download = DownloadRecord()
        if case .resumeData(let data) = downloadable {
            do throws(CurlewError) {
                let part = try ResumeData(data)
                download.part = part
                download.unexaminedFile = part.file
            } catch {
                download.flaw = error
            }
        }
        self.download = Lock(download)
        super.init(
            .download, session: session, interceptor: interceptor,
            shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// The URL of the complete file. During validation the file still has its temporary name.
    public var fileURL: URL? { record.withLock { $0.body.fileURL } }

    /// The data with which a later request can continue this download. It exists after
    /// `cancel(producingResumeData: true)` and after a lost connection, if the server has identified the version of the
    /// file.
    public var resumeData: Data? { record.withLock { $0.error } == nil ? nil : producedResumeData }

    /// The data with which another process could continue this download if this process ended now.
    ///
    /// Save it from time to time to survive a crash. A crash leaves the file that it refers to.
    public var currentResumeData: Data? {
        let written = record.withLock { $0.download.completed }
        let (growing, segments) = download.withLock { ($0.growing, $0.growingSegments?.current) }
        guard var growing else { return resumeData }
        growing.bytesWritten = segments?.bytesWritten ?? max(growing.bytesWritten, written)
        growing.segments = segments?.segments
        return growing.bytesWritten > 0 ? growing.encoded : nil
    }

    fileprivate var producedResumeData: Data? {
        let isCancelled = isCancelled
        return download.withLock { record in
            isCancelled && !record.keepsPartOnCancel ? nil : record.part?.encoded
        }
    }

    fileprivate func describedRequest() throws -> URLRequest {
        switch downloadable {
        case .request(let convertible): return try convertible.asURLRequest().absolute(in: context)
        case .resumeData(let data):
            let data = try ResumeData(data)
            var request = URLRequest(url: data.url)
            request.httpMethod = data.method.rawValue
            for field in data.headers { request.setValue(field.value, forHTTPHeaderField: field.name) }
            return request
        }
    }

    fileprivate func settleParts() async {
        let keepsPart = !isCancelled || download.withLock { $0.keepsPartOnCancel }
        if !keepsPart {
            let part = download.withLock { record in
                record.growing = nil
                return exchange(&record.part, with: nil)
            }
            if let part {
                await FileLane.next().carryOut { DownloadFile.reopen(part.file, keeping: 0)?.discard() }
            }
        }
        await noteEnd()
        await tellResumeData()
    }
}

extension RequestKind {
    fileprivate static let download = RequestKind(
        source: .own { request in
            guard let download = request as? DownloadRequest else { throw CurlewError.requestNotCreated(NotADownload()) }
            return try download.resuming(download.describedRequest())
        },
        purpose: .file,
        makeDelegate: { exchange in
            guard let download = exchange.request as? DownloadRequest else {
                return DataTaskDelegate(limit: exchange.request.bodyLimit)
            }
            return DownloadTaskDelegate(download)
        },
        cleanUp: { await ($0 as? DownloadRequest)?.settleParts() },
        resumeData: { ($0 as? DownloadRequest)?.producedResumeData }
    )

    private struct NotADownload: Error {}
}
