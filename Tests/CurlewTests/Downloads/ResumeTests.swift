import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

@Suite("Resumed downloads", .timeLimit(.minutes(4)))
struct ResumeTests {
    let session = Session()

    /// Lets the server cut a download after `bytes` body bytes. Returns the resume data that the download left.
    func broken(
        _ service: FileService,
        after bytes: Int,
        to target: URL
    ) async throws -> (data: Data, part: ResumeData) {
        service.change { $0.cuts = [bytes] }
        let request = session.download(service.url, to: destination(target))
        let error = await #expect(throws: CurlewError.self) { try await request.file() }
        #expect(error?.isConnectivity == true, "\(String(describing: error))")
        let data = try #require(request.resumeData, "\(String(describing: error))")
        return (data, try ResumeData(data))
    }

    @Test("a download whose connection was lost leaves resume data that requests only the rest")
    func lostConnection() async throws {
        let service = try FileService()
        let scratch = try ScratchDirectory()
        let target = scratch.file("a")
        let (data, part) = try await broken(service, after: 700_000, to: target)
        #expect(part.bytesWritten > 0 && part.bytesWritten <= 700_000)
        #expect(part.expectedTotal == 1 << 20)
        #expect(part.validator == .entityTag("\"v1\""))
        #expect(URL(filePath: part.file).deletingLastPathComponent().plainPath == scratch.url.plainPath)
        #expect(scratch.names == [URL(filePath: part.file).lastPathComponent])

        let fractions = Lock<[Double]>([])
        let resumed = session.download(resumingWith: data, to: destination(target))
            .downloadProgress(queue: DispatchQueue(label: "p")) { progress in
                fractions.withLock { $0.append(progress.fractionCompleted) }
            }
        let url = try await resumed.file()
        #expect(try Data(contentsOf: url) == service.contents)
        #expect(scratch.names == ["a"])
        #expect(service.ranges == [nil, "bytes=\(part.bytesWritten)-"])
        #expect(service.server.requests.last?.headers["If-Range"] == "\"v1\"")
        #expect(service.server.requests.last?.headers["Accept-Encoding"] == "identity")
        #expect(resumed.response?.statusCode == 206)
        #expect(resumed.resumeData == nil)
        #expect(resumed.downloadProgress.completedUnitCount == 1 << 20)
        #expect(fractions.withLock { $0 }.allSatisfy { $0 >= Double(part.bytesWritten) / Double(1 << 20) })
    }

    @Test("a file that has changed on the server is downloaded again as a whole", arguments: [true, false])
    func changed(obeysIfRange: Bool) async throws {
        let service = try FileService { $0.obeysIfRange = obeysIfRange }
        let scratch = try ScratchDirectory()
        let (data, _) = try await broken(service, after: 700_000, to: scratch.file("a"))
        service.change {
            $0.seed = 2
            $0.tag = "\"v2\""
        }
        let url = try await session.download(resumingWith: data, to: destination(scratch.file("a"))).file()
        #expect(try Data(contentsOf: url) == service.contents)
        #expect(scratch.names == ["a"])
        // A server that ignores the condition is asked once more, for the whole file.
        #expect(service.server.requestCount == (obeysIfRange ? 2 : 3))
        #expect((service.ranges.last ?? nil == nil) == !obeysIfRange)
    }

    @Test("a resumed download is complete although the server has stopped supporting ranges")
    func noRanges() async throws {
        let service = try FileService()
        let scratch = try ScratchDirectory()
        let (data, _) = try await broken(service, after: 700_000, to: scratch.file("a"))
        service.change { $0.hasRanges = false }
        let url = try await session.download(resumingWith: data, to: destination(scratch.file("a"))).file()
        #expect(try Data(contentsOf: url) == service.contents)
        #expect(scratch.names == ["a"])
    }

    @Test("a file that has become shorter on the server is downloaded again")
    func shorter() async throws {
        let service = try FileService { $0.obeysIfRange = false }
        let scratch = try ScratchDirectory()
        let (data, _) = try await broken(service, after: 700_000, to: scratch.file("a"))
        service.change { $0.length = 1000 }
        let url = try await session.download(resumingWith: data, to: destination(scratch.file("a"))).file()
        #expect(try Data(contentsOf: url) == service.contents)
        #expect(service.server.requestCount == 3)
    }

    @Test("a partial file that is already complete requests only its last byte")
    func complete() async throws {
        let service = try FileService { $0.length = 10_000 }
        let scratch = try ScratchDirectory()
        let file = try TemporaryFile.create(in: scratch.path)
        try service.contents.withUnsafeBytes { try file.write($0, at: 0) }
        file.keep()
        for total in [10_000, nil] as [Int64?] {
            let data = ResumeData(
                url: try #require(URL(string: service.url)), validator: .entityTag("\"v1\""), bytesWritten: 10_000,
                expectedTotal: total, file: file.url.plainPath)
            let target = scratch.file("a\(total ?? 0)")
            if total != nil {
                let sum = try Digest.sha256(of: service.contents)
                _ = try await session.download(resumingWith: data.encoded, to: destination(target))
                    .checksum(.sha256, sum).file()
            } else {
                // The first download has moved the partial file away, so the whole file is requested.
                _ = try await session.download(resumingWith: data.encoded, to: destination(target)).file()
            }
            #expect(try Data(contentsOf: target) == service.contents)
        }
        #expect(service.ranges == ["bytes=9999-", "bytes=9999-", nil])
    }

    @Test("a 416 with the length of the partial file completes the download")
    func refusedRange() async throws {
        let server = try TestServer()
        let contents = Data("0123456789".utf8)
        server.script("/file", .status(416, headers: ["Content-Range": "bytes */10", "ETag": "\"v1\""]))
        let scratch = try ScratchDirectory()
        let file = try TemporaryFile.create(in: scratch.path)
        try contents.withUnsafeBytes { try file.write($0, at: 0) }
        file.keep()
        let data = ResumeData(
            url: server.url("/file"), validator: .entityTag("\"v1\""), bytesWritten: 10, expectedTotal: nil,
            file: file.url.plainPath)
        let url = try await session.download(resumingWith: data.encoded, to: destination(scratch.file("a"))).file()
        #expect(try Data(contentsOf: url) == contents)
        #expect(scratch.names == ["a"])
    }

    @Test("an error page for a resumed download keeps the partial file and its resume data", arguments: [404, 503])
    func errorPage(_ status: Int) async throws {
        let service = try FileService()
        let scratch = try ScratchDirectory()
        let (data, part) = try await broken(service, after: 700_000, to: scratch.file("a"))
        service.change { $0.statuses = [status] }
        let request = session.download(resumingWith: data, to: destination(scratch.file("a")))
        let error = await #expect(throws: CurlewError.self) { try await request.file() }
        #expect(error?.responseCode == status)
        let again = try #require(request.resumeData)
        #expect(try ResumeData(again) == part)
        #expect(scratch.names == [URL(filePath: part.file).lastPathComponent])
        let url = try await session.download(resumingWith: again, to: destination(scratch.file("a"))).file()
        #expect(try Data(contentsOf: url) == service.contents)
        #expect(scratch.names == ["a"])
    }

    @Test(
        "an accepted error page replaces the partial file, unless the destination is occupied",
        arguments: [true, false])
    func acceptedErrorPage(isInTheWay: Bool) async throws {
        let service = try FileService()
        let scratch = try ScratchDirectory()
        let (data, part) = try await broken(service, after: 700_000, to: scratch.file("a"))
        service.change { $0.statuses = [404] }
        if isInTheWay { try scratch.write("a", "old") }
        let response = await session.download(resumingWith: data, to: destination(scratch.file("a")))
            .validate(statusCode: 200..<500).response()
        #expect(response.response?.statusCode == 404)
        #expect(response.error?.code == (isInTheWay ? .destinationExists : nil))
        #expect(scratch.file("a").text == (isInTheWay ? "old" : "sorry"))
        // If the page could not be moved, the partial file is kept for another try.
        let kept = isInTheWay ? [URL(filePath: part.file).lastPathComponent] : []
        #expect(scratch.names == kept + ["a"])
        #expect((response.resumeData != nil) == isInTheWay)
    }

    @Test("resume data stays valid after an error page that was not validated")
    func errorPageWithoutRules() async throws {
        let service = try FileService()
        let scratch = try ScratchDirectory()
        let (data, _) = try await broken(service, after: 700_000, to: scratch.file("a"))
        service.change { $0.statuses = [503] }
        let page = await session.download(resumingWith: data, to: destination(scratch.file("page"))).response()
        #expect(page.response?.statusCode == 503)
        #expect(scratch.file("page").text == "sorry")
        let url = try await session.download(resumingWith: data, to: destination(scratch.file("a"))).file()
        #expect(try Data(contentsOf: url) == service.contents)
        #expect(service.ranges.last??.hasPrefix("bytes=") == true)
        #expect(scratch.names == ["a", "page"])
    }

    /// Retries the first failure, and makes the server answer the retry with an error page.
    private struct PageAfterCut: RequestInterceptor {
        let service: FileService

        func retry(_ request: Request, for session: Session, dueTo error: CurlewError) async -> RetryResult {
            guard request.retryCount == 0 else { return .doNotRetry }
            service.change { $0.statuses = [503] }
            return .retry
        }
    }

    @Test("a retry that ends with an unvalidated error page leaves no partial file")
    func errorPageAfterEarlierTry() async throws {
        let service = try FileService { $0.cuts = [700_000] }
        let scratch = try ScratchDirectory()
        let page = await Session(interceptor: PageAfterCut(service: service))
            .download(service.url, to: destination(scratch.file("page"))).response()
        #expect(page.response?.statusCode == 503)
        #expect(service.ranges.count == 2 && service.ranges.last??.hasPrefix("bytes=") == true)
        #expect(scratch.names == ["page"])
    }

    @Test("a cancellation during the validation keeps the complete file only on request", arguments: [true, false])
    func cancelWhileValidating(keeps: Bool) async throws {
        let service = try FileService()
        let scratch = try ScratchDirectory()
        let current = Lock<DownloadRequest?>(nil)
        let request = session.download(service.url, to: destination(scratch.file("a"))).validate { _, _, _ in
            _ = current.withLock { $0 }?.cancel(producingResumeData: keeps)
            return .success(())
        }
        current.withLock { $0 = request }
        let error = await #expect(throws: CurlewError.self) { try await request.file() }
        current.withLock { $0 = nil }
        #expect(error?.code == .cancelled)
        #expect((request.resumeData != nil) == keeps)
        #expect(scratch.names.count == (keeps ? 1 : 0))
        guard let data = request.resumeData else { return }
        let url = try await session.download(resumingWith: data, to: destination(scratch.file("a"))).file()
        #expect(try Data(contentsOf: url) == service.contents)
        #expect(service.ranges.last == "bytes=\((1 << 20) - 1)-")
        #expect(scratch.names == ["a"])
    }

    @Test("a file whose part is missing or too short is downloaded again")
    func lostPart() async throws {
        for isGone in [true, false] {
            let service = try FileService()
            let scratch = try ScratchDirectory()
            let (data, part) = try await broken(service, after: 700_000, to: scratch.file("a"))
            if isGone { unlink(part.file) } else { truncate(part.file, 10) }
            let url = try await session.download(resumingWith: data, to: destination(scratch.file("a"))).file()
            #expect(try Data(contentsOf: url) == service.contents)
        }
    }

    @Test("the checksum of a resumed download covers the bytes of the earlier part")
    func checksum() async throws {
        let service = try FileService()
        let scratch = try ScratchDirectory()
        let sum = try Digest.sha256(of: service.contents)
        let (data, part) = try await broken(service, after: 700_000, to: scratch.file("a"))
        _ = try await session.download(resumingWith: data, to: destination(scratch.file("a")))
            .checksum(.sha256, sum).file()

        let (other, otherPart) = try await broken(service, after: 700_000, to: scratch.file("b"))
        let handle = try FileHandle(forWritingTo: URL(filePath: otherPart.file))
        try handle.write(contentsOf: Data("damage".utf8))
        try handle.close()
        let request = session.download(resumingWith: other, to: destination(scratch.file("b"))).checksum(.sha256, sum)
        let error = await #expect(throws: CurlewError.self) { try await request.file() }
        #expect(error?.code == .validationFailed)
        #expect(scratch.names == ["a"])
        #expect(part.bytesWritten > 0)
    }

    @Test("a broken download without a strong validator or range support leaves no resume data")
    func notResumable() async throws {
        let cases: [@Sendable (inout FileService.Behaviour) -> Void] = [
            { $0.tag = nil }, { $0.tag = "W/\"v1\"" }, { $0.headers = ["Accept-Ranges": "none"] },
        ]
        for change in cases {
            let service = try FileService(change)
            let scratch = try ScratchDirectory()
            service.change { $0.cuts = [700_000] }
            let request = session.download(service.url, to: destination(scratch.file("a")))
            let error = await #expect(throws: CurlewError.self) { try await request.file() }
            #expect(error?.isConnectivity == true, "\(String(describing: error))")
            #expect(error?.downloadResumeData == nil && request.resumeData == nil)
            #expect(scratch.names == [])
            // Another download therefore begins with the first byte.
            _ = try await session.download(service.url, to: destination(scratch.file("a"))).file()
            #expect(service.ranges == [nil, nil])
        }
    }

    @Test("a modification date is sufficient for a resumed download")
    func lastModified() async throws {
        let service = try FileService {
            $0.tag = nil
            $0.modified = "Sun, 06 Nov 1994 08:49:37 GMT"
        }
        let scratch = try ScratchDirectory()
        let (data, _) = try await broken(service, after: 700_000, to: scratch.file("a"))
        _ = try await session.download(resumingWith: data, to: destination(scratch.file("a"))).file()
        #expect(service.server.requests.last?.headers["If-Range"] == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(service.server.requestCount == 2)
    }

    // MARK: Cancelling

    @Test("cancelling gives the same resume data to the closure, the request and the response")
    func cancelProducing() async throws {
        let service = try FileService { $0.stall = 500_000 }
        let scratch = try ScratchDirectory()
        let target = scratch.file("a")
        let request = session.download(service.url, to: destination(target))
        let (told, teller) = AsyncStream.makeStream(of: Data?.self)
        request.downloadProgress(queue: DispatchQueue(label: "p")) { [weak request] progress in
            guard progress.completedUnitCount > 100_000, request?.isCancelled == false else { return }
            request?.cancel { teller.yield($0) }
        }
        let response = await request.response()
        #expect(response.error?.code == .cancelled)
        let data = try #require(response.resumeData)
        #expect(request.resumeData == data)
        for await inClosure in told {
            #expect(inClosure == data)
            break
        }
        service.change { $0.stall = nil }
        let url = try await session.download(resumingWith: data, to: destination(target)).file()
        #expect(try Data(contentsOf: url) == service.contents)
        #expect(scratch.names == ["a"])
    }

    @Test("the closure for resume data is called before response handlers", arguments: [true, false])
    func cancelOrder(runs: Bool) async throws {
        let service = try FileService { $0.stall = 500_000 }
        let scratch = try ScratchDirectory()
        for _ in 0..<20 {
            let request = session.download(
                service.url, shouldAutomaticallyResume: runs, to: destination(scratch.file("a")))
            let (told, teller) = AsyncStream.makeStream(of: String.self)
            request.response(queue: DispatchQueue(label: "r")) { _ in
                teller.yield("handler")
                teller.finish()
            }
            if runs { for await progress in request.downloadProgress() where progress.completedUnitCount > 0 { break } }
            request.cancel(byProducingResumeData: { _ in teller.yield("closure") })
            #expect(await told.reduce(into: []) { $0.append($1) } == ["closure", "handler"])
            if let data = request.resumeData { unlink(try ResumeData(data).file) }
        }
    }

    @Test("an error contains the resume data of the download that it ended")
    func errorHasResumeData() async throws {
        let service = try FileService { $0.stall = 500_000 }
        let scratch = try ScratchDirectory()
        let request = session.download(service.url, to: destination(scratch.file("a")))
        async let response = request.response()
        for await progress in request.downloadProgress() where progress.completedUnitCount > 0 { break }
        request.cancel(producingResumeData: true)
        let ended = await response
        let data = try #require(ended.resumeData)
        #expect(ended.error?.downloadResumeData == data)
        #expect(request.error?.downloadResumeData == data)
        service.change {
            $0.stall = nil
            $0.cuts = [200_000]
        }
        let cut = session.download(service.url, to: destination(scratch.file("b")))
        let error = await #expect(throws: CurlewError.self) { try await cut.file() }
        #expect(error?.downloadResumeData != nil)
        #expect(error?.downloadResumeData == cut.resumeData)
        #expect("\(String(describing: error))".contains("curlewResumeData") == false)
        service.change { $0.cuts = [] }
        let plain = session.download(service.url, to: destination(scratch.file("c"))).validate(contentType: ["text/css"]
        )
        #expect(await plain.response().error?.downloadResumeData == nil)
    }

    @Test("cancelling a download that never ran or has ended produces no resume data")
    func cancelIdle() async throws {
        let service = try FileService { $0.length = 10 }
        let scratch = try ScratchDirectory()
        let (told, teller) = AsyncStream.makeStream(of: Data?.self)
        var answers = told.makeAsyncIterator()
        let cold = session.download(service.url, to: destination(scratch.file("a")))
        cold.cancel { teller.yield($0) }
        #expect(await answers.next() == .some(nil))
        let ended = session.download(service.url, to: destination(scratch.file("a")))
        _ = try await ended.file()
        ended.cancel { teller.yield($0) }
        #expect(await answers.next() == .some(nil))
        #expect(ended.resumeData == nil)
        #expect(scratch.names == ["a"])
    }

    @Test("cancelling a resumed download without resume data removes the partial file")
    func plainCancelOfResumed() async throws {
        let service = try FileService()
        let scratch = try ScratchDirectory()
        let (data, _) = try await broken(service, after: 700_000, to: scratch.file("a"))
        service.change { $0.stall = 100_000 }
        let request = session.download(resumingWith: data, to: destination(scratch.file("a")))
        request.downloadProgress(queue: DispatchQueue(label: "p")) { [weak request] _ in request?.cancel() }
        await #expect(throws: CurlewError.self) { try await request.file() }
        #expect(request.resumeData == nil)
        #expect(scratch.names == [])
    }

    // MARK: Retrying

    @Test("a retry policy resumes after each broken connection, and the checksum covers the whole file")
    func retryPolicy() async throws {
        let service = try FileService { $0.cuts = [300_000, 200_000, 1, 0] }
        let scratch = try ScratchDirectory()
        let policy = RetryPolicy(retryLimit: 10, exponentialBackoffScale: 0.001)
        let request = session.download(service.url, interceptor: policy, to: destination(scratch.file("a")))
            .checksum(.sha256, try Digest.sha256(of: service.contents))
        let url = try await request.file()
        #expect(try Data(contentsOf: url) == service.contents)
        #expect(scratch.names == ["a"])
        #expect(request.retryCount == 4)
        let ranges = service.ranges
        #expect(ranges.count == 5)
        #expect(ranges[0] == nil)
        #expect(ranges.dropFirst().allSatisfy { $0 != nil })
    }

    @Test("cancelling during a retry delay leaves a partial file only on request", arguments: [true, false])
    func cancelBetweenTries(keeps: Bool) async throws {
        let service = try FileService { $0.cuts = [300_000] }
        let scratch = try ScratchDirectory()
        let (waiting, teller) = AsyncStream.makeStream(of: Void.self)
        let request = session.download(service.url, to: destination(scratch.file("a"))).retry(
            using: Retrier { _, _, _ in
                teller.yield()
                return .retryWithDelay(600)
            })
        async let response = request.response()
        for await _ in waiting { break }
        request.cancel(producingResumeData: keeps)
        let ended = await response
        #expect(ended.error?.code == .cancelled)
        #expect((ended.resumeData != nil) == keeps)
        #expect((request.resumeData != nil) == keeps)
        #expect(scratch.names.count == (keeps ? 1 : 0))
    }

    @Test("a retry with another URL starts over")
    func otherURL() async throws {
        let service = try FileService { $0.cuts = [300_000] }
        service.server.route("/other") { _ in .text("other") }
        let scratch = try ScratchDirectory()
        let urls = Lock([service.url, service.server.url("/other").absoluteString])
        let request = session.download(Changing(urls: urls), to: destination(scratch.file("a"))).retry(
            using: Retrier { request, _, _ in request.retryCount == 0 ? .retry : .doNotRetry })
        let url = try await request.file()
        #expect(url.text == "other")
        #expect(service.ranges == [nil, nil])
        #expect(scratch.names == ["a"])
    }

    struct Changing: URLRequestConvertible {
        let urls: Lock<[String]>

        func asURLRequest() throws -> URLRequest {
            try URLRequest(url: urls.withLock { $0.removeFirst() }, method: .get)
        }
    }

    @Test("data that is no resume data is rejected", arguments: [Data(), Data("{}".utf8)])
    func noResumeData(_ data: Data) async {
        let request = session.download(resumingWith: data)
        let error = await #expect(throws: CurlewError.self) { try await request.file() }
        #expect(error?.code == .resumeRejected)
    }

    @Test("currentResumeData is available during a download and nil after it")
    func currentResumeData() async throws {
        let gate = Gate()
        let service = try FileService {
            $0.stall = 500_000
            $0.gate = gate
        }
        let scratch = try ScratchDirectory()
        let snapshot = Lock<Data?>(nil)
        let request = session.download(service.url, to: destination(scratch.file("a")))
        request.downloadProgress(queue: DispatchQueue(label: "p")) { [weak request] progress in
            guard progress.completedUnitCount > 200_000 else { return }
            snapshot.withLock { $0 = $0 ?? request?.currentResumeData }
            gate.open()
        }
        _ = try await request.file()
        let part = try ResumeData(#require(snapshot.withLock { $0 }))
        #expect(part.bytesWritten > 200_000)
        #expect(request.currentResumeData == nil)
    }
}
