import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

@Suite("Segmented downloads", .timeLimit(.minutes(4)))
struct SegmentTests {
    let session = Session()
    static let length = 9 << 20

    @Test("several requests load one file, and request each byte once")
    func divided() async throws {
        let service = try FileService { $0.length = Self.length }
        let scratch = try ScratchDirectory()
        let counts = Lock<[Int64]>([])
        let request = session.download(service.url, to: destination(scratch.file("a"))).segments(4)
            .checksum(.sha256, try Digest.sha256(of: service.contents))
            .downloadProgress(queue: DispatchQueue(label: "p")) { progress in
                counts.withLock { $0.append(progress.completedUnitCount) }
            }
        let url = try await request.file()
        #expect(try Data(contentsOf: url) == service.contents)
        #expect(scratch.names == ["a"])
        let ranges = service.ranges.compactMap(\.self).sorted()
        #expect(
            ranges == [
                "bytes=0-1048575", "bytes=1048576-3145727", "bytes=3145728-5242879", "bytes=5242880-7340031",
                "bytes=7340032-9437183",
            ])
        #expect(service.server.requests.dropFirst().allSatisfy { $0.headers["If-Range"] == "\"v1\"" })
        #expect(request.downloadProgress.completedUnitCount == Int64(Self.length))
        #expect(request.downloadProgress.totalUnitCount == Int64(Self.length))
        #expect(counts.withLock { $0 == $0.sorted() })
    }

    /// Records the total timeout of each exchange.
    private struct Watching: Transport {
        let inner: any Transport
        let totals = Lock<[Duration?]>([])

        func perform(
            _ request: TransferRequest, sink: any TransferSink
        ) async throws(CurlewError) -> TransferOutcome {
            totals.withLock { $0.append(request.options.timeouts.total) }
            return try await inner.perform(request, sink: sink)
        }
    }

    @Test("all requests of a segmented download share its total timeout")
    func sharedTime() async throws {
        let service = try FileService { $0.length = Self.length }
        let scratch = try ScratchDirectory()
        let transport = Watching(inner: SessionConfiguration().makeTransport())
        _ = try await Session(transport: transport).download(service.url, to: destination(scratch.file("a")))
            .segments(4).timeouts { $0.total = .seconds(50) }.file()
        let totals = try transport.totals.withLock { $0 }.map { try #require($0) }
        #expect(totals.count == 5)
        #expect(totals.dropFirst().allSatisfy { $0 < totals[0] })
        #expect(totals[0] <= .seconds(50))
    }

    @Test("a small file needs only one request")
    func small() async throws {
        for length in [1, 1000, 1 << 20] {
            let service = try FileService { $0.length = length }
            let scratch = try ScratchDirectory()
            let url = try await session.download(service.url, to: destination(scratch.file("a"))).segments(8).file()
            #expect(try Data(contentsOf: url) == service.contents)
            #expect(service.server.requestCount == 1)
        }
    }

    @Test("a file without ranges, without a strong validator or without bytes is downloaded as a whole")
    func fallback() async throws {
        let cases: [(requests: Int, @Sendable (inout FileService.Behaviour) -> Void)] = [
            (1, { $0.hasRanges = false }), (2, { $0.tag = nil }), (2, { $0.tag = "W/\"v1\"" }), (2, { $0.length = 0 }),
        ]
        for (requests, change) in cases {
            let service = try FileService {
                $0.length = 3 << 20
                change(&$0)
            }
            let scratch = try ScratchDirectory()
            let url = try await session.download(service.url, to: destination(scratch.file("a"))).segments(4).file()
            #expect(try Data(contentsOf: url) == service.contents)
            #expect(service.server.requestCount == requests)
            #expect(scratch.names == ["a"])
        }
    }

    @Test("a file that changes between its segments is downloaded again as a whole", arguments: [true, false])
    func changing(obeysIfRange: Bool) async throws {
        let service = try FileService {
            $0.length = Self.length
            $0.obeysIfRange = obeysIfRange
        }
        let scratch = try ScratchDirectory()
        let changed = Lock(false)
        let request = session.download(service.url, to: destination(scratch.file("a"))).segments(4)
        // Called after the head of the first part and before the requests for the others.
        let target: DownloadRequest.Destination = { _, _ in
            if changed.withLock({ exchange(&$0, with: true) }) == false {
                service.change {
                    $0.seed = 2
                    $0.tag = "\"v2\""
                }
            }
            return (scratch.file("b"), [])
        }
        let second = session.download(service.url, to: target).segments(4)
        let url = try await second.file()
        #expect(try Data(contentsOf: url) == service.contents)
        #expect(scratch.names == ["b"])
        _ = try await request.file()
        #expect(try Data(contentsOf: scratch.file("a")) == service.contents)
    }

    @Test("no disk space is reserved for a length that a server only claims")
    func claimedLength() async throws {
        let server = try TestServer()
        let gate = Gate()
        server.route("/file") { request in
            var response = TestServer.Response(status: 206, body: .data(Data("x".utf8)))
            response.headers["Content-Range"] = "bytes 0-0/\(Int64(2) << 30)"
            response.headers["ETag"] = "\"v1\""
            return request.headers["Range"] == "bytes=0-1048575"
                ? response : response.stalling(until: gate, at: .beforeHead)
        }
        let scratch = try ScratchDirectory()
        let request = session.download(server.url("/file"), to: destination(scratch.file("a"))).segments(4)
        async let response = request.response()
        for await progress in request.downloadProgress() where progress.completedUnitCount == 1 { break }
        let part = try #require(scratch.names.first)
        var status = stat()
        #expect(stat(scratch.file(part).plainPath, &status) == 0)
        #expect(status.st_size == 1)
        #expect(status.st_blocks < 1000)
        request.cancel()
        gate.open()
        #expect(await response.error?.code == .cancelled)
        #expect(scratch.names == [])
    }

    @Test("an error page fails a segmented download and leaves no file")
    func errorPages() async throws {
        let service = try FileService {
            $0.length = Self.length
            $0.statuses = [503]
        }
        let scratch = try ScratchDirectory()
        let request = session.download(service.url, to: destination(scratch.file("a"))).segments(4)
        let error = await #expect(throws: CurlewError.self) { try await request.file() }
        #expect(error?.responseCode == 503)
        #expect(scratch.names == [])
    }

    @Test("resume data of a broken segmented download requests only the missing bytes")
    func resume() async throws {
        let service = try FileService { $0.length = Self.length }
        let scratch = try ScratchDirectory()
        // The first response is complete; each of the others is cut.
        service.change { $0.cuts = [nil, 100_000, 200_000, 300_000, 400_000] }
        let request = session.download(service.url, to: destination(scratch.file("a"))).segments(4)
        await #expect(throws: CurlewError.self) { try await request.file() }
        let data = try #require(request.resumeData)
        let part = try ResumeData(data)
        #expect(part.segments?.count == 5)
        #expect(part.bytesWritten >= 1 << 20)
        #expect(scratch.names.count == 1)

        service.change { $0.cuts = [] }
        // The server may still read requests that the first download sent before it stopped; the field marks later
        // ones.
        let mark = Adapter { urlRequest, _ in
            var marked = urlRequest
            marked.setValue("yes", forHTTPHeaderField: "X-Again")
            return marked
        }
        let resumed = session.download(resumingWith: data, to: destination(scratch.file("a"))).adapt(using: mark)
            .checksum(.sha256, try Digest.sha256(of: service.contents))
        let url = try await resumed.file()
        #expect(try Data(contentsOf: url) == service.contents)
        #expect(scratch.names == ["a"])
        let requests = service.server.requests.filter { $0.headers["X-Again"] != nil }
        let again = requests.compactMap { $0.headers["Range"] }.map {
            $0.dropFirst(6).split(separator: "-").compactMap { Int($0) }
        }
        #expect(again.reduce(0) { $0 + $1[1] - $1[0] + 1 } == Self.length - Int(part.bytesWritten))
        #expect(resumed.downloadProgress.completedUnitCount == Int64(Self.length))
    }

    @Test("a retry policy completes a broken segmented download")
    func retry() async throws {
        let service = try FileService { $0.length = Self.length }
        service.change { $0.cuts = [nil, 100_000, 200_000, 300_000, 400_000, 50_000, 60_000] }
        let scratch = try ScratchDirectory()
        let policy = RetryPolicy(retryLimit: 20, exponentialBackoffScale: 0.001)
        let url = try await session.download(service.url, interceptor: policy, to: destination(scratch.file("a")))
            .segments(4).checksum(.sha256, try Digest.sha256(of: service.contents)).file()
        #expect(try Data(contentsOf: url) == service.contents)
        #expect(scratch.names == ["a"])
    }

    @Test("a segmented download is complete although responses are shorter than requested")
    func shortAnswers() async throws {
        let service = try FileService {
            $0.length = Self.length
            $0.longestRange = 100_000
        }
        let scratch = try ScratchDirectory()
        let url = try await session.download(service.url, to: destination(scratch.file("a"))).segments(2).file()
        #expect(try Data(contentsOf: url) == service.contents)
    }

    @Test("a server that sends single bytes fails a segmented download, which keeps its resume data")
    func tinyAnswers() async throws {
        let service = try FileService { $0.length = 4 << 20 }
        service.change { $0.longestRange = 1 }
        let scratch = try ScratchDirectory()
        let request = session.download(service.url, to: destination(scratch.file("a"))).segments(2)
        let error = await request.response().error
        #expect(error?.code == .truncated)
        #expect(error?.reason.contains("again and again") == true)
        // One first request, and at most eight for each of two segments.
        #expect(service.ranges.count <= 1 + 2 * 8)
        #expect(request.resumeData != nil)
    }

    @Test("cancelling stops all segments and leaves resume data only on request", arguments: [true, false])
    func cancel(keeps: Bool) async throws {
        let service = try FileService {
            $0.length = Self.length
            $0.unstalled = 1
            $0.stall = 600_000
        }
        let scratch = try ScratchDirectory()
        let request = session.download(service.url, to: destination(scratch.file("a"))).segments(4)
        request.downloadProgress(queue: DispatchQueue(label: "p")) { [weak request] progress in
            if progress.completedUnitCount > 3 << 20 { request?.cancel(producingResumeData: keeps) }
        }
        let error = await #expect(throws: CurlewError.self) { try await request.file() }
        #expect(error?.code == .cancelled)
        #expect((request.resumeData != nil) == keeps)
        #expect(scratch.names.count == (keeps ? 1 : 0))
        try await service.server.waitForOpenConnections(atMost: 0)
        if let data = request.resumeData {
            service.change { $0.stall = nil }
            let url = try await session.download(resumingWith: data, to: destination(scratch.file("a"))).file()
            #expect(try Data(contentsOf: url) == service.contents)
        }
    }

    @Test("a cancellation while a complete file is hashed keeps the file only on request", arguments: [true, false])
    func cancelWhileHashing(keeps: Bool) throws {
        let scratch = try ScratchDirectory()
        let request = session.download("http://example.com/file", to: destination(scratch.file("a")))
        let file = try TemporaryFile.create(in: scratch.path)
        try Array("0123456789".utf8).withUnsafeBytes { try file.write($0, at: 0) }
        let validator = EntityValidator.entityTag("\"v1\"")
        let part = ResumeData(
            url: try #require(URL(string: "http://example.com/file")), validator: validator, bytesWritten: 0,
            expectedTotal: 10, file: file.url.plainPath)
        let progress = SegmentProgress(
            SegmentPlan(validator: validator, total: 10, segments: [FileSegment(0..<10, written: 10)]))
        request.downloadRecord.withLock { $0.part = .growing(GrowingPart(part, progress)) }
        let sum = try #require(Checksum(.sha256, hex: String(repeating: "0", count: 64)))
        let opened = OpenedDownload(
            file: file, target: nil, role: .segment(0, progress, of: part), digests: [(sum, try Digest(.sha256))],
            madeDirectories: [])
        request.cancel(producingResumeData: keeps)
        let error = #expect(throws: CurlewError.self) { _ = try request.place(opened) }
        #expect(error?.code == .cancelled)
        #expect(request.downloadRecord.withLock { $0.part.resumable?.bytesWritten } == (keeps ? 10 : nil))
        #expect(scratch.names.count == (keeps ? 1 : 0))
    }
}
