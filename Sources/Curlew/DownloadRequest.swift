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
        super.init(session: session, interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// The URL of the complete file. During validation the file still has its temporary name.
    public var fileURL: URL? { record.withLock { $0.transfer.body.fileURL } }

    /// The data with which a later request can continue this download. It exists after
    /// `cancel(producingResumeData: true)` and after a lost connection, if the server has identified the version of the
    /// file.
    public var resumeData: Data? { record.withLock { $0.error } == nil ? nil : producedResumeData }

    /// The data with which another process could continue this download if this process ended now.
    ///
    /// Save it from time to time to survive a crash. A crash leaves the file that it refers to.
    public var currentResumeData: Data? {
        let written = record.withLock { $0.transfer.download.completed }
        let (growing, segments) = download.withLock { ($0.growing, $0.growingSegments?.current) }
        guard var growing else { return resumeData }
        growing.bytesWritten = segments?.bytesWritten ?? max(growing.bytesWritten, written)
        growing.segments = segments?.segments
        return growing.bytesWritten > 0 ? growing.encoded : nil
    }

    override var producedResumeData: Data? {
        let isCancelled = isCancelled
        return download.withLock { record in
            isCancelled && !record.keepsPartOnCancel ? nil : record.part?.encoded
        }
    }

    override var ownDestination: Destination? { destination }

    override var purpose: TransferPurpose { .file }

    override func makeURLRequest() throws -> URLRequest { try resuming(describedRequest()) }

    private func describedRequest() throws -> URLRequest {
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

    override func makeDelegate(
        for exchange: consuming ExchangeContext, _ outgoing: TransferRequest, of run: Run
    ) -> any TaskDelegate {
        let outgoing = OutgoingExchange(lowered: outgoing, transport: run.session.transport, budget: run.budget)
        return DownloadTaskDelegate(self, exchange, outgoing, asked: asked(by: request))
    }

    override func triesAgainAtOnce() -> Bool { download.withLock { exchange(&$0.asksAgain, with: false) } }

    override var hasToCleanUp: Bool { true }

    override func cleanUp() async {
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

    // For a download that ended without a run, and so without `cleanUp()`.
    override func untilBodyIsTaken() async { await tellResumeData() }
}
