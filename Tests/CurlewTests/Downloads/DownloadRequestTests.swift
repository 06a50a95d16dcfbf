import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

@Suite("Downloads", .timeLimit(.minutes(4)))
struct DownloadRequestTests {
    let session = Session()

    @Test("a download writes the server's bytes to its destination and leaves no other file")
    func plain() async throws {
        let service = try FileService()
        let scratch = try ScratchDirectory()
        let request = session.download(service.url, to: destination(scratch.file("a")))
        let url = try await request.file()
        #expect(url == scratch.file("a"))
        #expect(request.fileURL == url)
        #expect(try Data(contentsOf: url) == service.contents)
        #expect(scratch.names == ["a"])
        #expect(request.resumeData == nil)
        #expect(request.downloadProgress.fractionCompleted == 1)
    }

    @Test("an empty body becomes an empty file")
    func empty() async throws {
        let service = try FileService { $0.length = 0 }
        let scratch = try ScratchDirectory()
        let url = try await session.download(service.url, to: destination(scratch.file("a"))).file()
        #expect(try Data(contentsOf: url).isEmpty)
        #expect(scratch.names == ["a"])
    }

    @Test("an empty body becomes an empty file, however late onHTTPResponse decides")
    func emptyAfterADecision() async throws {
        let scratch = try ScratchDirectory()
        for round in 0..<50 {
            let transport = MockTransport { _ in .text("").header("Content-Length", "0") }
            let request = Session(transport: transport)
                .download("https://example.org/", to: destination(scratch.file("\(round)")))
                .onHTTPResponse { _ -> Request.ResponseDisposition in
                    for _ in 0..<(round * 10) { await Task.yield() }
                    return .allow
                }
            let url = try await request.file()
            #expect(try Data(contentsOf: url).isEmpty)
        }
    }

    @Test("a decision of onHTTPResponse after the cancellation creates no file", .timeLimit(.minutes(1)))
    func lateDecision() async throws {
        let scratch = try ScratchDirectory()
        let (asked, isOver, decided) = (Gate(), Gate(), Gate())
        let transport = MockTransport { _ in
            MockResponse(status: 200, body: [.bytes(Data("x".utf8)), .wait(Gate())])
        }
        let request = Session(transport: transport)
            .download("https://example.org/", to: destination(scratch.file("a")))
            .onHTTPResponse { _ -> Request.ResponseDisposition in
                asked.open()
                try? await isOver.wait()
                defer { decided.open() }
                return .allow
            }
        let file = Task { try await request.file() }
        try await asked.wait()
        request.cancel()
        await #expect(throws: CurlewError.self) { try await file.value }
        isOver.open()
        try await decided.wait()
        for _ in 0..<1000 { await Task.yield() }
        #expect(scratch.names.isEmpty)
        #expect(request.fileURL == nil)
    }

    @Test("a rejected response keeps the previous file at the destination and leaves no other", arguments: [404, 500])
    func rejected(_ status: Int) async throws {
        let service = try FileService { $0.statuses = [status] }
        let scratch = try ScratchDirectory()
        try Data("old".utf8).write(to: scratch.file("a"))
        let request = session.download(service.url, to: destination(scratch.file("a"), .removePreviousFile))
        let error = await #expect(throws: CurlewError.self) { try await request.file() }
        #expect(error?.code == .unacceptableStatus)
        #expect(error?.responseCode == status)
        #expect(error?.responseBody == Data("sorry".utf8))
        #expect(scratch.file("a").text == "old")
        #expect(scratch.names == ["a"])
        #expect(request.fileURL == nil)
        #expect(request.resumeData == nil)
    }

    enum Rejection: CaseIterable { case status, contentType, own }

    @Test("the error of the request's own validation contains the rejected body", arguments: Rejection.allCases)
    func rejectedByValidation(_ rejection: Rejection) async throws {
        struct Refusal: Error {}
        let service = try FileService { $0.statuses = [404] }
        let scratch = try ScratchDirectory()
        let request = session.download(service.url, to: destination(scratch.file("a")))
        switch rejection {
        case .status: request.validate()
        case .contentType: request.validate(contentType: ["application/json"])
        case .own: request.validate { _, _, _ in .failure(Refusal()) }
        }
        let error = await #expect(throws: CurlewError.self) { try await request.file() }
        #expect(error?.phase == .validation)
        #expect(error?.responseCode == 404)
        #expect(error?.responseBody == Data("sorry".utf8))
        #expect(await request.response().error?.responseBody == Data("sorry".utf8))
        #expect(scratch.names == [])
    }

    @Test("a 404 becomes a file at the destination if no validation was requested")
    func unvalidated() async throws {
        let service = try FileService { $0.statuses = [404] }
        let scratch = try ScratchDirectory()
        let response = await session.download(service.url, to: destination(scratch.file("a"))).response()
        #expect(response.response?.statusCode == 404)
        #expect(response.fileURL == scratch.file("a"))
        #expect(scratch.file("a").text == "sorry")
    }

    @Test("response() after file() has rejected the status fails like file(), because the file is gone")
    func responseAfterRejection() async throws {
        let service = try FileService { $0.statuses = [404] }
        let scratch = try ScratchDirectory()
        let request = session.download(service.url, to: destination(scratch.file("a")))
        let error = await #expect(throws: CurlewError.self) { try await request.file() }
        #expect(error?.code == .unacceptableStatus)
        let response = await request.response()
        #expect(response.response?.statusCode == 404)
        #expect(response.error?.code == .unacceptableStatus)
        #expect(response.error?.responseBody == Data("sorry".utf8))
        #expect(response.fileURL == nil)
        #expect(scratch.names.isEmpty)
    }

    @Test("validation sees the complete file before it is moved")
    func validation() async throws {
        let service = try FileService { $0.length = 1000 }
        let scratch = try ScratchDirectory()
        let seen = Lock<[Int?]>([])
        let target = scratch.file("a")
        let request = session.download(service.url, to: destination(target)).validate { _, _, file in
            let size = file.flatMap { try? FileManager.default.attributesOfItem(atPath: $0.plainPath)[.size] as? Int }
            seen.withLock { $0.append(size) }
            let isMoved = FileManager.default.fileExists(atPath: target.plainPath)
            return isMoved ? .success(()) : .failure(CurlewError(.validationFailed, phase: .validation))
        }
        let error = await #expect(throws: CurlewError.self) { try await request.file() }
        #expect(error?.code == .validationFailed)
        #expect(seen.withLock { $0 } == [1000])
        #expect(scratch.names == [])
    }

    @Test("an occupied or missing destination fails the download before its body", arguments: [true, false])
    func earlyFailure(exists: Bool) async throws {
        let service = try FileService { $0.length = 1 << 30 }
        let scratch = try ScratchDirectory()
        if exists { try Data("old".utf8).write(to: scratch.file("x")) }
        let target = exists ? scratch.file("x") : scratch.file("x/y")
        let error = await #expect(throws: CurlewError.self) {
            try await session.download(service.url, to: destination(target)).file()
        }
        #expect(error?.code == (exists ? .destinationExists : .destinationMissing))
        #expect((error?.underlying as? CocoaError)?.code == (exists ? .fileWriteFileExists : .fileNoSuchFile))
        #expect(scratch.names == (exists ? ["x"] : []))
        #expect(service.server.bytesSent < 100 << 20)
    }

    @Test("missing directories are created on request and removed again if the download fails")
    func directories() async throws {
        let service = try FileService { $0.length = 10 }
        let scratch = try ScratchDirectory()
        let target = scratch.file("x/y/a")
        let options: DownloadRequest.Options = .createIntermediateDirectories
        await #expect(throws: CurlewError.self) {
            try await session.download(service.url, to: destination(target, options))
                .validate(contentType: ["text/html"]).file()
        }
        #expect(scratch.names == [])
        _ = try await session.download(service.url, to: destination(target, options)).file()
        #expect(try Data(contentsOf: target) == service.contents)
    }

    @Test("a download without a destination stays in a temporary file")
    func noDestination() async throws {
        let service = try FileService { $0.length = 10 }
        let url = try await session.download(service.url).file()
        defer { try? FileManager.default.removeItem(at: url) }
        #expect(try Data(contentsOf: url) == service.contents)
        #expect(url.lastPathComponent.hasPrefix("Curlew_"))
    }

    @Test("a file without a destination can be read by its owner alone", arguments: [true, false])
    func noDestinationIsPrivate(proposes: Bool) async throws {
        let service = try FileService { $0.length = 10 }
        let proposed: DownloadRequest.Destination = { url, _ in (destinationURL: url, options: []) }
        let url = try await session.download(service.url, to: proposes ? proposed : nil).file()
        defer { try? FileManager.default.removeItem(at: url) }
        let mode = try FileManager.default.attributesOfItem(atPath: url.plainPath)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test("a directory at the destination fails the download before its body", arguments: [true, false])
    func directoryInTheWay(replaces: Bool) async throws {
        let service = try FileService { $0.length = 1 << 30 }
        let scratch = try ScratchDirectory()
        let target = scratch.file("a")
        try FileManager.default.createDirectory(at: target, withIntermediateDirectories: true)
        let error = await #expect(throws: CurlewError.self) {
            try await session.download(service.url, to: destination(target, replaces ? .removePreviousFile : [])).file()
        }
        #expect(error?.code == (replaces ? .moveFailed : .destinationExists))
        if replaces {
            #expect(error?.reason.contains("\(target.plainPath): a directory of that name is in the way") == true)
        }
        #expect(scratch.names == ["a"])
        #expect(service.server.bytesSent < 100 << 20)
    }

    @Test("the suggested name cannot leave its directory")
    func suggested() async throws {
        let service = try FileService {
            $0.length = 10
            $0.headers = ["Content-Disposition": "attachment; filename=\"../../evil.txt\""]
        }
        let scratch = try ScratchDirectory()
        let to = DownloadRequest.suggestedDownloadDestination(in: scratch.url)
        let url = try await session.download(service.url, to: to).file()
        #expect(url.plainPath == scratch.file("evil.txt").plainPath)
        #expect(scratch.names == ["evil.txt"])
    }

    @Test("cancelling without resume data leaves no file at any point", arguments: [0, 1, 50_000, 500_000, 1_000_000])
    func cancel(_ after: Int64) async throws {
        let service = try FileService { $0.stall = Int(after) }
        let scratch = try ScratchDirectory()
        let request = session.download(service.url, to: destination(scratch.file("a")))
        request.downloadProgress(queue: DispatchQueue(label: "progress")) { [weak request] progress in
            if progress.completedUnitCount >= after { request?.cancel() }
        }
        if after == 0 { request.cancel() }
        let error = await #expect(throws: CurlewError.self) { try await request.file() }
        #expect(error?.code == .cancelled)
        #expect(request.resumeData == nil)
        #expect(scratch.names == [])
    }

    @Test("the body of a redirect that is not followed becomes a file")
    func unfollowedRedirect() async throws {
        let server = try TestServer()
        server.route("/moved") { _ in
            TestServer.Response.text("moved", status: 302).header("Location", "/elsewhere")
        }
        let scratch = try ScratchDirectory()
        let url = try await session.download(server.url("/moved"), to: destination(scratch.file("a")))
            .redirect(using: .doNotFollow).acceptingAnyStatus().file()
        #expect(url.text == "moved")
    }

    @Test("a right checksum is accepted; a wrong or malformed one fails the download and leaves no file")
    func checksums() async throws {
        let service = try FileService()
        let scratch = try ScratchDirectory()
        let right = try Digest.sha256(of: service.contents)
        _ = try await session.download(service.url, to: destination(scratch.file("a"))).checksum(.sha256, right).file()

        let wrong = String(right.reversed())
        let request = session.download(service.url, to: destination(scratch.file("b")))
            .checksum(.sha256, right).checksum(.sha256, wrong)
        let error = await #expect(throws: CurlewError.self) { try await request.file() }
        #expect(error?.code == .validationFailed)
        #expect(error?.reason.contains(wrong) == true)
        #expect(scratch.names == ["a"])

        let malformed = session.download(service.url, to: destination(scratch.file("c"))).checksum(.md5, "abc")
        let flaw = await #expect(throws: CurlewError.self) { try await malformed.file() }
        #expect(flaw?.code == .requestCreationFailed)
        #expect(scratch.names == ["a"])
    }

    @Test("a download with a checksum reports the status of an error page, not its checksum")
    func checksumOfErrorPage() async throws {
        let service = try FileService { $0.statuses = [404] }
        let request = session.download(service.url).checksum(.md5, "900150983cd24fb0d6963f7d28e17f72")
        let error = await #expect(throws: CurlewError.self) { try await request.file() }
        #expect(error?.code == .unacceptableStatus)
    }

    @Test("a request's maximumBodySize applies to a file on disk too")
    func limit() async throws {
        let service = try FileService()
        let scratch = try ScratchDirectory()
        let request = session.download(service.url, to: destination(scratch.file("a"))).maximumBodySize(100_000)
        let error = await #expect(throws: CurlewError.self) { try await request.file() }
        #expect(error?.code == .limitExceeded)
        #expect(scratch.names == [])
    }

    @Test("a full disk fails the download with diskFull and leaves no file", .enabled(if: SmallDisk.isAvailable))
    func fullDisk() async throws {
        let scratch = try ScratchDirectory()
        try SmallDisk.mount(at: scratch.path)
        defer { SmallDisk.unmount(scratch.path) }
        let service = try FileService { $0.length = 4 << 20 }
        let request = session.download(service.url, to: destination(scratch.file("a")))
        let error = await #expect(throws: CurlewError.self) { try await request.file() }
        #expect(error?.code == .diskFull)
        #expect(scratch.names == [])
        #expect(request.resumeData == nil)
        // The session remains usable.
        service.change { $0.length = 1000 }
        _ = try await session.download(service.url, to: destination(scratch.file("a"))).file()
    }

    @Test(
        "a directory removed during the download is an error, or is created again on request", arguments: [true, false])
    func vanishingDirectory(isRecreated: Bool) async throws {
        let gate = Gate()
        let service = try FileService {
            $0.stall = 500_000
            $0.gate = gate
        }
        let scratch = try ScratchDirectory()
        let folder = scratch.file("folder")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let removed = Lock(false)
        let target = folder.appending(path: "a")
        let options: DownloadRequest.Options = isRecreated ? .createIntermediateDirectories : []
        let request = session.download(service.url, to: destination(target, options))
        request.downloadProgress(queue: DispatchQueue(label: "progress")) { _ in
            let isFirst = removed.withLock { removed in
                defer { removed = true }
                return !removed
            }
            if isFirst { try? FileManager.default.removeItem(at: folder) }
            gate.open()
        }
        if isRecreated {
            #expect(try Data(contentsOf: await request.file()) == service.contents)
        } else {
            let error = await #expect(throws: CurlewError.self) { try await request.file() }
            #expect(error?.code == .destinationMissing)
            #expect(scratch.names == [])
            // Awaiting methods that do not check the status report this error too.
            #expect(await request.response().error?.code == .destinationMissing)
        }
    }
}
