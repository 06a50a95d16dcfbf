import CurlewCore
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

/// Resume data that names files that no download created.
@Suite("Resume data that names foreign files", .timeLimit(.minutes(4)))
struct ForeignResumeDataTests {
    let session = Session()

    enum Victim: CaseIterable, Sendable {
        case privateKey, oldName, readByOthers, writtenByOthers, symbolicLink, linkToPrivateKey, hardLink, directory,
            pipe
    }

    /// The path that the resume data names, and the file that must stay as it is.
    private func make(_ victim: Victim, in scratch: ScratchDirectory) throws -> (named: URL, precious: URL) {
        let key = scratch.file("id_ed25519")
        try Data("a private key".utf8).write(to: key)
        chmod(key.plainPath, 0o600)
        let named = URL(filePath: TemporaryName.make(in: scratch.path))
        switch victim {
        case .privateKey: return (key, key)
        case .oldName:
            let old = scratch.file(".curlew-1k2j3h.part")
            try FileManager.default.moveItem(at: key, to: old)
            return (old, old)
        case .readByOthers, .writtenByOthers:
            try FileManager.default.moveItem(at: key, to: named)
            chmod(named.plainPath, victim == .readByOthers ? 0o644 : 0o620)
            return (named, named)
        case .symbolicLink:
            let part = URL(filePath: TemporaryName.make(in: scratch.path))
            try FileManager.default.moveItem(at: key, to: part)
            try FileManager.default.createSymbolicLink(at: named, withDestinationURL: part)
            return (named, part)
        case .linkToPrivateKey:
            try FileManager.default.createSymbolicLink(at: named, withDestinationURL: key)
            return (named, key)
        case .hardLink:
            try FileManager.default.linkItem(at: key, to: named)
            return (named, key)
        case .directory:
            try FileManager.default.createDirectory(at: named, withIntermediateDirectories: true)
            return (named, key)
        case .pipe:
            mkfifo(named.plainPath, 0o600)
            return (named, key)
        }
    }

    private struct Look: Equatable {
        var text: String?
        var mode: mode_t
        var inode: ino_t
        var changed: Int

        init(_ url: URL) throws {
            var status = stat()
            try #require(lstat(url.plainPath, &status) == 0)
            (mode, inode, changed) = (status.st_mode, status.st_ino, status.st_ctim.tv_nsec)
            text = url.text
        }
    }

    private func data(_ service: FileService, _ file: URL) throws -> Data {
        ResumeData(
            url: try #require(URL(string: service.url)), validator: .entityTag("\"v1\""), bytesWritten: 5,
            expectedTotal: 1 << 20, file: file.plainPath
        ).encoded
    }

    @Test(
        "resume data is rejected before any request if no download left its file, which stays as it is",
        arguments: Victim.allCases)
    func rejected(_ victim: Victim) async throws {
        let service = try FileService()
        let scratch = try ScratchDirectory()
        let (named, precious) = try make(victim, in: scratch)
        let (before, names) = (try Look(precious), scratch.names)
        let request = session.download(resumingWith: try data(service, named), to: destination(scratch.file("a")))
        let error = await #expect(throws: CurlewError.self) { try await request.file() }
        #expect(error?.code == .resumeRejected)
        #expect(error?.reason.contains(named.plainPath) == true)
        #expect(request.resumeData == nil)
        #expect(service.server.requestCount == 0)
        #expect(scratch.names == names)
        #expect(try Look(precious) == before)
    }

    /// Neither the server's response nor the user's cancellation may remove the file.
    @Test(
        "a foreign file is not removed by a cancelled or a retried request", arguments: [true, false],
        [Victim.privateKey, .readByOthers])
    func notRemoved(isCancelled: Bool, _ victim: Victim) async throws {
        let service = try FileService { $0.hasRanges = false }
        let scratch = try ScratchDirectory()
        let (named, precious) = try make(victim, in: scratch)
        let (before, names) = (try Look(precious), scratch.names)
        let request = session.download(
            resumingWith: try data(service, named),
            interceptor: Retrier { request, _, _ in request.retryCount < 2 ? .retry : .doNotRetry },
            to: destination(scratch.file("a")))
        if isCancelled { request.cancel() }
        let error = await #expect(throws: CurlewError.self) { try await request.file() }
        #expect(error?.code == (isCancelled ? .cancelled : .resumeRejected))
        #expect(scratch.names == names)
        #expect(try Look(precious) == before)
    }

    @Test("a journal entry that names a foreign file is ignored, and the file stays as it is")
    func journal() async throws {
        let service = try FileService()
        let scratch = try ScratchDirectory()
        let (named, precious) = try make(.privateKey, in: scratch)
        let before = try Look(precious)
        let journal = DownloadJournal(directory: scratch.file("journal"))
        let request = session.download(service.url)
        let part = try ResumeData(data(service, named))
        journal.folder(of: "x").write(JournalEntry(part, of: request, JournalState()), under: UUID())
        #expect(journal.folder(of: "x").unfinished().isEmpty)
        #expect(try Look(precious) == before)
    }

    @Test("another session continues a cancelled download with its resume data")
    func ownFile() async throws {
        let service = try FileService { $0.stall = 500_000 }
        let scratch = try ScratchDirectory()
        let request = session.download(service.url, to: destination(scratch.file("a")))
        async let ended = request.response()
        for await progress in request.downloadProgress() where progress.completedUnitCount > 0 { break }
        request.cancel(producingResumeData: true)
        let data = try #require(await ended.resumeData)
        service.change { $0.stall = nil }
        let url = try await Session().download(resumingWith: data, to: destination(scratch.file("a"))).file()
        #expect(try Data(contentsOf: url) == service.contents)
        #expect(service.ranges.last??.hasPrefix("bytes=") == true)
        #expect(scratch.names == ["a"])
    }
}
