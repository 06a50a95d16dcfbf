import Curlew
import CurlewLocks
import CurlewTesting
import Dispatch
import Foundation
import FoundationNetworking
import Testing

import struct CurlewAlamofire.DataStreamTask

/// The guide's table of events, which scripts/event-table generates from `EventMonitor`, has the order in which events
/// occur.
@Suite("The guide's table of events", .timeLimit(.minutes(4)))
struct EventTableTests {
    /// The names in the table's first column, in order, and the names of events that may occur at any time.
    private static func rows() throws -> (ordered: [String], free: Set<String>) {
        let page = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Sources/Curlew/Curlew.docc/Observing.md").standardized
        let text = try String(contentsOf: page, encoding: .utf8)
        let lines = text.split(separator: "\n").drop { !$0.hasPrefix("<!-- events") }
        let ordered = lines.prefix { $0 != "### At any time" }
        return (names(in: ordered), Set(names(in: lines.dropFirst(ordered.count))))
    }

    private static func names(in lines: some Sequence<Substring>) -> [String] {
        lines.compactMap { $0.firstMatch(of: /^\| `([^`]+)`/).map { String($0.output.1) } }
    }

    /// After these events the order begins again, for another attempt or the target of a redirect.
    private static let beginnings: Set = [
        "requestIsRetrying(_:)", "request(_:task:willFollowRedirect:from:to:)",
    ]

    private func expectInOrder(_ events: [String]) throws {
        let (rows, free) = try Self.rows()
        var last = 0
        for event in events where !free.contains(event) {
            // An event may occur in the same row again: two events have one name, and some repeat for every piece of a
            // body.
            guard let row = rows.indices.first(where: { $0 >= last && rows[$0] == event }) else {
                Issue.record("\(event) stands before \(rows[last]) in the table, or not at all: \(events)")
                return
            }
            last = Self.beginnings.contains(event) ? 0 : row
        }
    }

    private func events(
        on server: TestServer,
        _ configuration: SessionConfiguration = SessionConfiguration(),
        _ run: @Sendable (Session) async throws -> Void
    ) async throws -> [String] {
        let monitor = NamingMonitor()
        let session = Session(
            configuration: configuration,
            interceptor: .retryPolicy(exponentialBackoffScale: 0.001), eventMonitors: [monitor])
        try await run(session)
        await session.drain()
        monitor.queue.sync {}
        return monitor.names.withLock { $0 }
    }

    @Test func dataRequestEventsFollowTheTable() async throws {
        let server = try TestServer()
        server.script("/flaky", .status(503), .text("[1]"))
        let names = try await events(on: server) { session in
            let adapter = Adapter { request, _ in request }
            _ = try await session.request(server.url("/flaky"), interceptor: adapter).validate().decode([Int].self)
        }
        #expect(names.filter { $0 == "requestIsRetrying(_:)" }.count == 1)
        #expect(names.contains("request(_:didAdaptInitialRequest:to:)"))
        try expectInOrder(names)
    }

    @Test func redirectEventsFollowTheTable() async throws {
        let server = try TestServer()
        let names = try await events(on: server) { session in
            _ = try await session.request(server.url("/redirect/2")).data()
        }
        #expect(names.filter { $0.contains("willFollowRedirect") }.count == 2)
        try expectInOrder(names)
    }

    @Test func uploadEventsFollowTheTable() async throws {
        let server = try TestServer()
        let names = try await events(on: server) { session in
            _ = try await session.upload(Data("hello".utf8), to: server.url("/post")).data()
        }
        #expect(names.contains { $0.contains("didCreateBody") })
        #expect(names.contains { $0.contains("didSendBodyData") })
        try expectInOrder(names)
    }

    @Test func streamedUploadEventsFollowTheTable() async throws {
        let server = try TestServer()
        let names = try await events(on: server) { session in
            _ = try await session.upload(InputStream(data: Data("hello".utf8)), to: server.url("/post")).data()
        }
        #expect(names.contains("request(_:taskNeedsNewBodyStream:)"))
        try expectInOrder(names)
    }

    @Test func storedResponseEventsFollowTheTable() async throws {
        let server = try TestServer()
        let configuration = SessionConfiguration { $0.cache = ResponseCache() }
        let names = try await events(on: server, configuration) { session in
            _ = try await session.request(server.url("/cache/60")).data()
        }
        #expect(names.contains("request(_:task:willCacheResponse:)"))
        try expectInOrder(names)
    }

    @Test func downloadEventsFollowTheTable() async throws {
        let server = try TestServer()
        let directory = try ScratchDirectory()
        let file = directory.file("file")
        let names = try await events(on: server) { session in
            _ = try await session.download(server.url("/bytes/1000"), to: { _, _ in (file, []) }).validate().file()
        }
        #expect(names.contains { $0.contains("didFinishDownloading") })
        try expectInOrder(names)
    }

    @Test func streamEventsFollowTheTable() async throws {
        let server = try TestServer()
        let names = try await events(on: server) { session in
            let done = Gate()
            session.streamRequest(server.url("/bytes/10")).validate().responseStreamString(on: .global()) { event in
                if case .complete = event.event { done.open() }
            }
            try await done.wait()
        }
        #expect(names.contains("request(_:didParseStream:)"))
        try expectInOrder(names)
    }
}

/// Records the name of each method that is called.
private final class NamingMonitor: EventMonitor {
    let queue = DispatchQueue(label: "monitor")
    let wantsBodies = true
    let names = Lock<[String]>([])

    private func note(_ name: String = #function) { names.withLock { $0.append(name) } }

    func requestDidResume(_ request: Request) { note() }
    func request(_ request: Request, didCreateInitialURLRequest urlRequest: URLRequest) { note() }
    func request(_ request: Request, didFailToCreateURLRequestWithError error: CurlewError) { note() }
    func request(_ request: Request, didAdaptInitialRequest initialRequest: URLRequest, to adaptedRequest: URLRequest) {
        note()
    }
    func request(
        _ request: Request, didFailToAdaptURLRequest initialRequest: URLRequest, withError error: CurlewError
    ) { note() }
    func request(_ request: UploadRequest, didCreateBody result: Result<UploadRequest.Uploadable, CurlewError>) {
        note()
    }
    func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest) { note() }
    func request(_ request: Request, didCreateTask task: TaskIdentifier) { note() }
    func request(_ request: Request, didChangeTask task: TaskIdentifier, to change: TaskChange) { note() }
    func request(_ request: Request, taskNeedsNewBodyStream task: TaskIdentifier) { note() }
    func request(
        _ request: Request, task: TaskIdentifier, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) { note() }
    func request(_ request: Request, task: TaskIdentifier, didReceive head: ResponseHead, from url: URL) { note() }
    func request(
        _ request: Request, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, data: Data?,
        fileURL: URL?, withResult result: Request.ValidationResult
    ) { note() }
    func request(
        _ request: DownloadRequest, task: TaskIdentifier, didResumeAtOffset fileOffset: Int64, expectedTotalBytes: Int64
    ) { note() }
    func request(_ request: Request, task: TaskIdentifier, didReceive data: Data) { note() }
    func request(
        _ request: DownloadRequest, task: TaskIdentifier, didWriteData bytesWritten: Int64, totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) { note() }
    func request(_ request: Request, task: TaskIdentifier, willCacheResponse response: CachedResponse) { note() }
    func request(_ request: Request, task: TaskIdentifier, didFinishCollecting metrics: TransferMetrics) { note() }
    func request(_ request: Request, didGatherMetrics metrics: TransferMetrics) { note() }
    func request(_ request: Request, task: TaskIdentifier, didCompleteWithError error: CurlewError?) { note() }
    func request(
        _ request: Request, task: TaskIdentifier, willFollowRedirect head: ResponseHead, from url: URL,
        to newRequest: URLRequest
    ) { note() }
    func request(
        _ request: DownloadRequest, didFinishDownloading result: Result<URL, CurlewError>, of task: TaskIdentifier
    ) { note() }
    func request(_ request: Request, didCompleteTask task: TaskIdentifier, with error: CurlewError?) { note() }
    func requestIsRetrying(_ request: Request) { note() }
    func requestDidFinish(_ request: Request) { note() }
    func request<Value: Sendable>(_ request: DataRequest, didParseResponse response: DataResponse<Value, CurlewError>) {
        note()
    }
    func request<Value: Sendable>(
        _ request: DataRequest, didParseResponse response: DataResponse<Value, CurlewError>,
        using serializer: (any Sendable)?
    ) {
        self.request(request, didParseResponse: response)
        note()
    }
    func request<Value: Sendable>(_ request: DataStreamRequest, didParseStream result: Result<Value, CurlewError>) {
        note()
    }
    func request<Value: Sendable>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, CurlewError>
    ) { note() }
    func request<Value: Sendable>(
        _ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, CurlewError>,
        using serializer: (any Sendable)?
    ) {
        self.request(request, didParseResponse: response)
        note()
    }
    func requestDidSuspend(_ request: Request) { note() }
    func requestDidCancel(_ request: Request) { note() }
    func session(_ session: SessionReference, didDecide decision: SessionDecision) { note() }
    func session(_ session: SessionReference, didBecomeInvalidWithError error: (any Error)?) { note() }
}
