internal import CurlewCore
internal import CurlewLocks
public import Foundation
internal import FoundationNetworking

/// A request whose response body goes into a file.
///
///     let file = try await session.download(url, to: destination).file()
///
/// The bytes grow in a private file beside the destination, and get their final name in one step when the
/// response was found acceptable. A failed or cancelled download leaves nothing behind, unless there is
/// resume data, which refers to what has come.
// SAFETY: every stored property is a `let` of a Sendable type; what changes sits behind locks.
public final class DownloadRequest: Request, @unchecked Sendable {
    /// What a download starts from.
    public enum Downloadable: Sendable {
        /// A new download, described by its request.
        case request(any URLRequestConvertible)
        /// The resume data of an earlier download.
        case resumeData(Data)
    }

    /// What this download starts from.
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

    /// Where the file is once it is complete: while it is validated under its temporary name.
    public var fileURL: URL? { record.withLock { $0.transfer.body.fileURL } }

    /// What a later request can continue this download with: there after `cancel(producingResumeData: true)`
    /// and after a lost connection, if the server has told which version of the file it was sending.
    public var resumeData: Data? { record.withLock { $0.error } == nil ? nil : producedResumeData }

    /// What another process could continue this download with if this one ended now.
    ///
    /// Save it from time to time to survive a crash. The file that it refers to stays behind then.
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

    // Also where there was no run that cleaned up.
    override func untilBodyIsTaken() async { await tellResumeData() }
}
