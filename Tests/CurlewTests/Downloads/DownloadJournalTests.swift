import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import FoundationNetworking
import Testing

@testable import Curlew

@Suite("Downloads of an earlier process", .timeLimit(.minutes(4)))
struct DownloadJournalTests {
    private let scratch: ScratchDirectory
    private let journal: DownloadJournal

    init() throws {
        scratch = try ScratchDirectory()
        journal = DownloadJournal(directory: scratch.file("journal"))
    }

    private func session(_ identifier: String = "mirror") -> Session {
        Session(
            configuration: SessionConfiguration {
                $0.identifier = identifier
                $0.downloadJournal = journal
            })
    }

    /// Breaks a download to `a`, and returns its entry in the list of unfinished downloads.
    private func breakDownload(of service: FileService, in session: Session) async throws -> UnfinishedDownload {
        _ = try? await session.download(service.url, to: destination(scratch.file("a"))).file()
        return try #require(await session.unfinishedDownloads().first)
    }

    private var parts: [String] { scratch.names.filter { $0 != "journal" } }

    @Test("a broken download is listed under its session's identifier and continues to its old destination")
    func broken() async throws {
        let service = try FileService { $0.cuts = [300_000] }
        let first = session()
        let request = first.download(service.url, to: destination(scratch.file("a"), [.removePreviousFile]))
        request.taskDescription = "disk image"
        _ = try? await request.file()
        #expect(await session("other").unfinishedDownloads().isEmpty)
        #expect(await Session().unfinishedDownloads().isEmpty)

        let second = session()
        let found = try #require(await second.unfinishedDownloads().first)
        #expect(found.taskDescription == "disk image" && found.url.absoluteString == service.url)
        #expect(found.destinationURL == scratch.file("a") && found.options == [.removePreviousFile])
        #expect(found.bytesWritten > 0 && found.bytesWritten <= 300_000 && found.expectedTotal == 1 << 20)
        let continued = second.download(continuing: found)
        #expect(continued.taskDescription == "disk image")
        #expect(try await continued.file() == scratch.file("a"))
        #expect(try Data(contentsOf: scratch.file("a")) == service.contents)
        #expect(service.ranges.last == "bytes=\(found.bytesWritten)-")
        #expect(await second.unfinishedDownloads().isEmpty)
        #expect(parts == ["a"])
    }

    @Test("the journal keeps the destination of a continuation that fails before its body")
    func failedContinuation() async throws {
        struct Refusing: RequestInterceptor {
            func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
                throw CurlewError(.requestCreationFailed, phase: .creation, reason: "refused")
            }
        }
        let service = try FileService { $0.cuts = [300_000] }
        let session = session()
        _ = try? await session.download(service.url, to: destination(scratch.file("a"), [.removePreviousFile])).file()
        let found = try #require(await session.unfinishedDownloads().first)
        await #expect(throws: CurlewError.self) {
            try await session.download(continuing: found, interceptor: Refusing()).file()
        }
        let again = try #require(await session.unfinishedDownloads().first)
        #expect(again.id == found.id && again.bytesWritten == found.bytesWritten)
        #expect(again.destinationURL == scratch.file("a") && again.options == [.removePreviousFile])
    }

    @Test("an error page instead of the rest leaves the download in the journal")
    func errorPage() async throws {
        let service = try FileService { $0.cuts = [300_000] }
        let session = session()
        let found = try await breakDownload(of: service, in: session)
        service.change { $0.statuses = [503] }
        let seen = Lock<[UUID]>([])
        let response = await session.download(continuing: found).validate { [journal] _, _, _ in
            // The request has not ended: a process that is killed now leaves this entry.
            let entries = journal.folder(of: "mirror").unfinished().map(\.id)
            seen.withLock { $0 = entries }
            return .failure(CurlewError(.unacceptableStatus, phase: .validation, reason: "an error page"))
        }.response()
        #expect(response.response?.statusCode == 503)
        #expect(seen.withLock { $0 } == [found.id])
        #expect(await session.unfinishedDownloads().map(\.id) == [found.id])
    }

    @Test("an error page that is accepted without validations leaves the download in the journal")
    func acceptedErrorPage() async throws {
        let service = try FileService { $0.cuts = [300_000] }
        let session = session()
        let found = try await breakDownload(of: service, in: session)
        service.change { $0.statuses = [503] }
        let page = await session.download(continuing: found, to: destination(scratch.file("page"))).response()
        #expect(page.response?.statusCode == 503 && page.error == nil)
        let again = try #require(await session.unfinishedDownloads().first)
        #expect(again.id == found.id && again.bytesWritten == found.bytesWritten)
        _ = try await session.download(continuing: again).file()
        #expect(try Data(contentsOf: scratch.file("a")) == service.contents)
        #expect(parts == ["a", "page"])
    }

    @Test("a download that another session has continued between two attempts leaves the entry to that session")
    func takenOver() async throws {
        let gate = Gate()
        let service = try FileService {
            $0.cuts = [300_000]
            $0.gate = gate
        }
        let neighbour = DownloadNeighbour(
            service: service, session: session(), destination: destination(scratch.file("theirs")))
        let url = try await session().download(
            service.url, interceptor: neighbour, to: destination(scratch.file("ours"))
        ).file()
        #expect(try Data(contentsOf: url) == service.contents)

        let theirs = try #require(neighbour.continued.withLock { $0 })
        let file = try ResumeData(try #require(theirs.currentResumeData)).file
        let folder = journal.folder(of: "mirror").url
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        try #require(names.count == 1)
        let entry = try #require(JournalEntry(try Data(contentsOf: folder.appending(path: names[0]))))
        #expect(entry.part.file == file)
        gate.open()
        let ended = try #require(neighbour.ended.withLock { $0 })
        let other = try await ended.value
        #expect(try Data(contentsOf: other) == service.contents)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
        #expect(parts == ["ours", "theirs"])
    }

    /// Expects that the journal lists the part that the neighbour has kept, and that it can be continued.
    private func expectKeptPart(of neighbour: DownloadNeighbour) async throws {
        let theirs = try #require(neighbour.continued.withLock { $0 })
        let part = try ResumeData(try #require(theirs.resumeData))
        let found = await neighbour.session.unfinishedDownloads()
        try #require(found.count == 1)
        #expect(try ResumeData(found[0].resumeData).file == part.file)
        #expect(found[0].destinationURL == scratch.file("theirs") && found[0].bytesWritten == part.bytesWritten)
        let other = try await neighbour.session.download(continuing: found[0]).file()
        #expect(try Data(contentsOf: other) == neighbour.service.contents)
    }

    @Test("a partial file that another session has continued and kept between two attempts stays in the journal")
    func takenOverAndKept() async throws {
        let service = try FileService { $0.cuts = [300_000] }
        let neighbour = DownloadNeighbour(
            service: service, session: session(), destination: destination(scratch.file("theirs")),
            ending: .afterStartingOver)
        let url = try await session().download(
            service.url, interceptor: neighbour, to: destination(scratch.file("ours"))
        ).file()
        #expect(try Data(contentsOf: url) == service.contents)

        try await expectKeptPart(of: neighbour)
        #expect(parts == ["ours", "theirs"])
    }

    @Test(
        "a partial file that another session has continued and kept stays when the waiting request ends",
        arguments: [true, false])
    func takenOverBeforeEnd(isCancelled: Bool) async throws {
        let service = try FileService { $0.cuts = [300_000] }
        let neighbour = DownloadNeighbour(
            service: service, session: session(), destination: destination(scratch.file("theirs")),
            ending: .beforeEnd(isCancelled: isCancelled))
        let request = session().download(
            service.url, interceptor: neighbour, to: destination(scratch.file("ours")))
        let error = await #expect(throws: CurlewError.self) { try await request.file() }
        #expect((error?.code == .cancelled) == isCancelled)

        try await expectKeptPart(of: neighbour)
        #expect(parts == ["theirs"])
    }

    @Test(
        "a request that cannot open its partial file does not discard it",
        .enabled(if: FileLease.arePossible, "the file system has no leases"))
    func unopenable() async throws {
        let service = try FileService { $0.cuts = [300_000] }
        let session = session()
        let found = try await breakDownload(of: service, in: session)
        let lease = Lock<FileLease?>(try FileLease(on: ResumeData(found.resumeData).file))
        let request = session.download(continuing: found)
        let error = await #expect(throws: CurlewError.self) { try await request.file() }
        #expect(error?.native?.number == Int(EAGAIN))
        #expect(request.resumeData == found.resumeData)
        #expect(service.server.requestCount == 1)
        lease.withLock { $0 = nil }
        let again = try #require(await session.unfinishedDownloads().first)
        #expect(again.id == found.id && again.bytesWritten == found.bytesWritten)

        // Nothing else refers to the lease, so the retrier ends it.
        try lease.withLock { $0 = try FileLease(on: ResumeData(again.resumeData).file) }
        let retrier = Retrier { request, _, error in
            guard request.retryCount == 0, error.native?.number == Int(EAGAIN) else { return .doNotRetry }
            lease.withLock { $0 = nil }
            return .retry
        }
        _ = try await session.download(continuing: again, interceptor: retrier).file()
        #expect(service.ranges.last == "bytes=\(found.bytesWritten)-")
        #expect(try Data(contentsOf: scratch.file("a")) == service.contents)
        #expect(await session.unfinishedDownloads().isEmpty)
        #expect(parts == ["a"])
    }

    @Test(
        "another attempt that cannot open the partial file does not discard it",
        .enabled(if: FileLease.arePossible, "the file system has no leases"))
    func unopenableInRetry() async throws {
        let service = try FileService { $0.cuts = [300_000] }
        let session = session()
        let lease = Lock<FileLease?>(nil)
        let retrier = Retrier { [journal] request, _, _ in
            guard request.retryCount == 0, let found = journal.folder(of: "mirror").unfinished().first,
                let made = try? FileLease(on: ResumeData(found.resumeData).file)
            else { return .doNotRetry }
            lease.withLock { $0 = made }
            return .retry
        }
        let request = session.download(service.url, interceptor: retrier, to: destination(scratch.file("a")))
        let error = await #expect(throws: CurlewError.self) { try await request.file() }
        #expect(error?.native?.number == Int(EAGAIN))
        #expect(service.ranges.count == 2 && service.ranges.last??.hasPrefix("bytes=") == true)
        lease.withLock { $0 = nil }
        let found = try #require(await session.unfinishedDownloads().first)
        #expect(found.bytesWritten > 0)
        _ = try await session.download(continuing: found).file()
        #expect(try Data(contentsOf: scratch.file("a")) == service.contents)
        #expect(parts == ["a"])
    }

    @Test("a download is taken if its journal entry cannot be read, and not if it has no entry")
    func unreadableEntry() throws {
        let id = UUID()
        #expect(!journal.folder(of: "mirror").isTaken(id, own: nil))
        // A directory can be read by no user, not even by root.
        let entry = journal.folder(of: "mirror").url.appending(path: "\(id.uuidString).json")
        try FileManager.default.createDirectory(at: entry, withIntermediateDirectories: true)
        #expect(journal.folder(of: "mirror").isTaken(id, own: nil))
    }

    @Test("resume data and the journal contain no secret or sensitive header fields")
    func secrets() async throws {
        let service = try FileService { $0.cuts = [300_000] }
        var configuration = SessionConfiguration()
        configuration.downloadJournal = journal
        configuration.redirects.sensitiveHeaders = ["x-tenant"]
        let request = Session(configuration: configuration).download(
            service.url, headers: ["X-JWT": "hush", "X-Tenant": "hush", "Accept-Language": "en"],
            to: destination(scratch.file("a")))
        _ = try? await request.file()
        let data = try #require(request.resumeData)
        #expect(try ResumeData(data).headers.map(\.name).contains("Accept-Language"))
        #expect(!String(decoding: data, as: UTF8.self).contains("hush"))
        let entries =
            FileManager.default.enumerator(at: journal.directory, includingPropertiesForKeys: nil)?
            .compactMap { ($0 as? URL).flatMap { try? Data(contentsOf: $0) } } ?? []
        #expect(!entries.isEmpty && entries.allSatisfy { !String(decoding: $0, as: UTF8.self).contains("hush") })
    }

    @Test("a running, a cancelled or a completed download is not listed as unfinished")
    func inFlight() async throws {
        let service = try FileService { $0.stall = 500_000 }
        let session = session()
        let request = session.download(service.url, to: destination(scratch.file("a")))
        async let response = request.response()
        for await progress in request.downloadProgress() where progress.completedUnitCount > 0 { break }
        #expect(await self.session().unfinishedDownloads().isEmpty)
        request.cancel()
        _ = await response
        #expect(await session.unfinishedDownloads().isEmpty, "it was given up")
        service.change { $0.stall = nil }
        _ = try await session.download(service.url, to: destination(scratch.file("a"))).file()
        #expect(await session.unfinishedDownloads().isEmpty)
        #expect(parts == ["a"])
    }

    @Test("a download cancelled with resume data is listed as unfinished and can be discarded")
    func discarded() async throws {
        let service = try FileService { $0.stall = 500_000 }
        let session = session()
        let request = session.download(service.url, to: destination(scratch.file("a")))
        async let response = request.response()
        for await progress in request.downloadProgress() where progress.completedUnitCount > 0 { break }
        request.cancel(producingResumeData: true)
        _ = await response
        let found = try #require(await session.unfinishedDownloads().first)
        await found.discard()
        #expect(await session.unfinishedDownloads().isEmpty)
        #expect(parts.isEmpty)
    }

    @Test("discarding an unfinished download has no effect while a request continues it")
    func continuedElsewhere() async throws {
        let service = try FileService { $0.cuts = [300_000] }
        let session = session()
        let found = try await breakDownload(of: service, in: session)
        service.change { $0.stall = 100_000 }
        let continued = session.download(continuing: found)
        async let response = continued.response()
        for await progress in continued.downloadProgress() where progress.completedUnitCount > found.bytesWritten {
            break
        }
        await found.discard()
        #expect(parts.count == 1)
        continued.cancel(producingResumeData: true)
        _ = await response
        let left = try #require(await session.unfinishedDownloads().first)
        #expect(left.id == found.id && left.bytesWritten > found.bytesWritten)
        await left.discard()
        #expect(await session.unfinishedDownloads().isEmpty && parts.isEmpty)
    }

    @Test("discarding an unfinished download keeps its entry if the entry names another file by then")
    func startedOver() async throws {
        let service = try FileService { $0.cuts = [300_000, 300_000] }
        let session = session()
        let found = try await breakDownload(of: service, in: session)
        // The server has another version, so the continuation begins a new file under the old entry.
        service.change { $0.tag = "\"v2\"" }
        _ = try? await session.download(continuing: found).file()
        let left = try #require(await session.unfinishedDownloads().first)
        #expect(left.id == found.id && left.resumeData != found.resumeData)
        await found.discard()
        #expect(await session.unfinishedDownloads().map(\.id) == [left.id])
        await left.discard()
        #expect(await session.unfinishedDownloads().isEmpty && parts.isEmpty)
    }

    @Test("a session's identifier may be longer than a file name can be", arguments: [123, 124, 4000])
    func longIdentifier(length: Int) async throws {
        let identifier = String(repeating: "i", count: length)
        let service = try FileService { $0.cuts = [300_000] }
        let session = session(identifier)
        _ = try? await session.download(service.url, to: destination(scratch.file("a"))).file()
        #expect(await session.unfinishedDownloads().count == 1)
        #expect(await self.session(identifier + "i").unfinishedDownloads().isEmpty)
        #expect(await self.session(String(identifier.dropLast())).unfinishedDownloads().isEmpty)
        let name = journal.folder(of: identifier).url.lastPathComponent
        #expect(name.hasPrefix("session-sha256-") == (length > 123) && name.utf8.count <= 255)
    }

    @Test("a download without a validator, or whose file is gone, is not listed as unfinished")
    func notKept() async throws {
        let service = try FileService {
            $0.tag = nil
            $0.cuts = [300_000, 300_000]
        }
        let session = session()
        _ = try? await session.download(service.url, to: destination(scratch.file("a"))).file()
        #expect(await session.unfinishedDownloads().isEmpty)
        service.change { $0.tag = "\"v1\"" }
        let request = session.download(service.url, to: destination(scratch.file("a")))
        _ = try? await request.file()
        let data = try ResumeData(try #require(request.resumeData))
        #expect(await session.unfinishedDownloads().count == 1)
        try FileManager.default.removeItem(atPath: data.file)
        #expect(await session.unfinishedDownloads().isEmpty)
    }

    @Test("after a crash the file's length counts, unless the system was restarted")
    func crashes() async throws {
        let service = try FileService { $0.cuts = [300_000] }
        let session = session()
        let request = session.download(service.url, to: destination(scratch.file("a")))
        _ = try? await request.file()
        var part = try ResumeData(try #require(request.resumeData))
        let size = part.bytesWritten
        part.bytesWritten = 0
        for (boot, expected) in [(JournalEntry.currentBoot, size), ("another", 0)] {
            let id = UUID()
            var entry = JournalEntry(part, of: request, JournalState())
            entry.boot = boot
            journal.folder(of: "crashed").write(entry, under: id)
            let found = try #require(await self.session("crashed").unfinishedDownloads().first)
            #expect(found.id == id && found.bytesWritten == expected)
            journal.folder(of: "crashed").remove(id)
        }
        let entry = JournalEntry(part, of: request, JournalState())
        journal.folder(of: "crashed").write(entry, under: UUID())
        let crashed = self.session("crashed")
        let found = try #require(await crashed.unfinishedDownloads().first)
        _ = try await crashed.download(continuing: found, to: destination(scratch.file("b"))).file()
        #expect(try Data(contentsOf: scratch.file("b")) == service.contents)
    }

    @Test("a download that has ended can be continued after a restart of the system if its bytes were flushed")
    func vouchedFor() async throws {
        let service = try FileService { $0.cuts = [300_000] }
        let session = session()
        let found = try await breakDownload(of: service, in: session)
        try #require(found.bytesWritten > 0)
        let file = journal.folder(of: "mirror").url.appending(path: "\(found.id.uuidString).json")
        var entry = try #require(JournalEntry(at: file))
        for (isVouchedFor, expected) in [(entry.isVouchedFor, found.bytesWritten), (false, 0)] {
            entry.boot = "another"
            entry.isVouchedFor = isVouchedFor
            journal.folder(of: "mirror").write(entry, under: found.id)
            let listed = await session.unfinishedDownloads()
            #expect(listed.map(\.id) == [found.id] && listed.first?.bytesWritten == expected)
        }
    }

    @Test("a broken segmented download is listed with the bytes it has and can be continued")
    func segments() async throws {
        let length = 12 << 20
        let service = try FileService {
            $0.length = length
            $0.cuts = [nil, 5 << 20, 5 << 20, 5 << 20, 5 << 20]
        }
        let session = session()
        let request = session.download(service.url, to: destination(scratch.file("a"))).segments(2)
        _ = try? await request.file()
        let found = try #require(await session.unfinishedDownloads().first)
        #expect(found.bytesWritten > 0 && found.bytesWritten < length)
        service.change { $0.cuts = [] }
        _ = try await session.download(continuing: found).file()
        #expect(try Data(contentsOf: scratch.file("a")) == service.contents)
        #expect(parts == ["a"])
    }

    @Test(
        "the journal entry of a segmented download is written every few megabytes, also after the download starts over")
    func dueEntries() {
        var state = JournalState()
        let mebibyte: Int64 = 1 << 20
        state.bodyBegins(to: nil, written: mebibyte)
        let before = [2, 5, 6, 9].map { state.isDue($0 * mebibyte) }
        #expect(before == [false, true, false, true])
        state.bodyBegins(to: nil, written: 0)
        let after = [1, 4, 7, 8].map { state.isDue($0 * mebibyte) }
        #expect(after == [false, true, false, true])
    }

    @Test(
        "the journal does not count the holes between the segments of a running download")
    func killedWithSegments() async throws {
        let length = 12 << 20
        let service = try FileService {
            $0.length = length
            $0.unstalled = 1
            $0.stall = 64 << 10
        }
        let request = session().download(service.url, to: destination(scratch.file("a"))).segments(2)
        async let response = request.response()
        for await progress in request.downloadProgress() where progress.completedUnitCount > (1 << 20) + (64 << 10) {
            break
        }
        let folder = scratch.file("journal")
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".json") }
        let file = folder.appending(path: try #require(names.first))
        let entry = try #require(JournalEntry(try Data(contentsOf: file)))
        // The file may have its full length although bytes are missing: each segment is written at its own offset.
        let found = try #require(UnfinishedDownload(entry, file: file, size: Int64(length)))
        #expect(entry.part.segments != nil)
        #expect(found.bytesWritten == entry.part.bytesWritten && found.bytesWritten <= (1 << 20) + (128 << 10))
        request.cancel()
        _ = await response
    }
}
