import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

@Suite("Temporary file", .timeLimit(.minutes(4)))
struct TemporaryFileTests {
    func made(in scratch: ScratchDirectory, _ text: String = "new") throws -> TemporaryFile {
        let file = try TemporaryFile.create(in: scratch.path)
        try write(text, to: file)
        return file
    }

    func write(_ text: String, to file: TemporaryFile, at offset: Int64 = 0) throws {
        var bytes = Array(text.utf8)
        try bytes.withUnsafeMutableBytes { try file.write(UnsafeRawBufferPointer($0), at: offset) }
    }

    func mode(_ url: URL) throws -> mode_t {
        var status = stat()
        try #require(lstat(url.plainPath, &status) == 0)
        return status.st_mode & 0o7777
    }

    @Test("a temporary file is private, and a moved one has the permissions of the process's mask")
    func permissions() throws {
        let scratch = try ScratchDirectory()
        let file = try made(in: scratch)
        #expect(try mode(file.url) == 0o600)
        try file.move(to: scratch.file("a"), options: [])
        let mask = try #require(FilePermissions.currentMask())
        #expect(try mode(scratch.file("a")) == 0o666 & ~mask)
        #expect(scratch.names == ["a"])
        #expect(scratch.file("a").text == "new")
    }

    @Test(
        "the mask is parsed from the text of /proc/self/status",
        arguments: [
            ("Name:\tx\nUmask:\t0022\nState:\tR", 0o022 as mode_t?), ("Umask: 0077", 0o077), ("Umask:\t", nil),
            ("Name:\tx", nil), ("", nil), ("Umask:\t9", nil),
        ])
    func mask(_ status: String, _ expected: mode_t?) { #expect(FilePermissions.mask(inStatus: status) == expected) }

    @Test("a temporary file that is released is removed")
    func abandoned() throws {
        let scratch = try ScratchDirectory()
        do { _ = try made(in: scratch) }
        #expect(scratch.names == [])
    }

    @Test("discarding removes a temporary file, and discarding or moving it again has no effect")
    func discarded() throws {
        let scratch = try ScratchDirectory()
        let file = try made(in: scratch)
        file.discard()
        file.discard()
        try file.move(to: scratch.file("a"), options: [])
        #expect(scratch.names == [])
    }

    @Test("a kept file stays and can be continued")
    func keptAndReopened() throws {
        let scratch = try ScratchDirectory()
        let file = try made(in: scratch, "0123456789")
        let path = file.url.plainPath
        file.keep()
        #expect(file.url.text == "0123456789")
        #expect(try mode(file.url) == 0o600)
        let again = try TemporaryFile.reopen(path, keeping: 4)
        #expect(again.url.text == "0123")
        try write("abc", to: again, at: 4)
        try again.move(to: scratch.file("a"), options: [])
        #expect(scratch.file("a").text == "0123abc")
        let mask = try #require(FilePermissions.currentMask())
        #expect(try mode(scratch.file("a")) == 0o666 & ~mask)
        #expect(scratch.names == ["a"])
    }

    @Test("a missing, short, linked, shared, foreign or locked file is not reopened")
    func reopenRefuses() throws {
        let (gone, taken) = (PartIsGone(isTaken: false), PartIsGone(isTaken: true))
        let scratch = try ScratchDirectory()
        #expect(throws: gone) { try TemporaryFile.reopen(TemporaryName.make(in: scratch.path), keeping: 0) }

        let short = try made(in: scratch, "012")
        short.keep()
        #expect(throws: gone) { try TemporaryFile.reopen(short.url.plainPath, keeping: 4) }
        #expect(short.url.text == "012", "a refused file is left as it was")

        let link = URL(filePath: TemporaryName.make(in: scratch.path))
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: short.url)
        #expect(throws: gone) { try TemporaryFile.reopen(link.plainPath, keeping: 1) }

        try FileManager.default.linkItem(at: short.url, to: scratch.file("hard"))
        #expect(throws: gone) { try TemporaryFile.reopen(short.url.plainPath, keeping: 1) }
        try FileManager.default.removeItem(at: scratch.file("hard"))

        for mode in [0o666, 0o622, 0o660, 0o4600] as [mode_t] {
            chmod(short.url.plainPath, mode)
            #expect(throws: gone) { try TemporaryFile.reopen(short.url.plainPath, keeping: 1) }
        }
        chmod(short.url.plainPath, 0o600)
        #expect(throws: gone, "a directory") { try TemporaryFile.reopen(scratch.path, keeping: 0) }
        let pipe = TemporaryName.make(in: scratch.path)
        mkfifo(pipe, 0o600)
        #expect(throws: gone) { try TemporaryFile.reopen(pipe, keeping: 0) }
        let other = scratch.file("key")
        try Data("secret".utf8).write(to: other)
        chmod(other.plainPath, 0o600)
        #expect(throws: gone, "a name that Curlew does not give") {
            try TemporaryFile.reopen(other.plainPath, keeping: 0)
        }
        #expect(other.text == "secret")

        let busy = try TemporaryFile.reopen(short.url.plainPath, keeping: 3)
        #expect(throws: taken, "one writer at a time") { try TemporaryFile.reopen(short.url.plainPath, keeping: 3) }
        busy.keep()
        _ = try TemporaryFile.reopen(short.url.plainPath, keeping: 3)
    }

    /// A download may open a partial file before another one finishes it, and lock it afterwards. Without this check,
    /// the first would truncate and overwrite the finished file.
    @Test("isInPlace() is false for a file that was moved, replaced or linked")
    func inPlace() throws {
        let scratch = try ScratchDirectory()
        let file = try OpenFile.existing(scratch.write("part", "0123").plainPath)
        #expect(file.isInPlace())
        try FileManager.default.moveItem(at: scratch.file("part"), to: scratch.file("finished"))
        #expect(!file.isInPlace())
        try scratch.write("part", "another")
        #expect(!file.isInPlace())
        try FileManager.default.removeItem(at: scratch.file("part"))
        try FileManager.default.linkItem(at: scratch.file("finished"), to: scratch.file("part"))
        #expect(!file.isInPlace(), "it has two names")
        try FileManager.default.removeItem(at: scratch.file("finished"))
        #expect(file.isInPlace())
    }

    @Test("an existing file is kept unless it may be replaced")
    func existing() throws {
        let scratch = try ScratchDirectory()
        try Data("old".utf8).write(to: scratch.file("a"))
        let refused = try made(in: scratch)
        let error = #expect(throws: CurlewError.self) { try refused.move(to: scratch.file("a"), options: []) }
        #expect(error?.code == .destinationExists)
        #expect((error?.underlying as? CocoaError)?.code == .fileWriteFileExists)
        #expect(scratch.file("a").text == "old")
        #expect(scratch.names == ["a"])

        try made(in: scratch).move(to: scratch.file("a"), options: .removePreviousFile)
        #expect(scratch.file("a").text == "new")
        #expect(scratch.names == ["a"])
    }

    @Test("a symbolic link at the destination is never written through", arguments: [true, false])
    func symbolicLink(dangling: Bool) throws {
        let scratch = try ScratchDirectory()
        let precious = scratch.file("precious")
        if !dangling { try Data("old".utf8).write(to: precious) }
        try FileManager.default.createSymbolicLink(at: scratch.file("a"), withDestinationURL: precious)
        let error = #expect(throws: CurlewError.self) {
            try made(in: scratch).move(to: scratch.file("a"), options: [])
        }
        #expect(error?.code == .destinationExists)
        try made(in: scratch).move(to: scratch.file("a"), options: .removePreviousFile)
        #expect(scratch.file("a").text == "new")
        #expect(precious.text == (dangling ? nil : "old"))
    }

    @Test("a directory at the destination is not removed")
    func directory() throws {
        let scratch = try ScratchDirectory()
        try FileManager.default.createDirectory(at: scratch.file("a"), withIntermediateDirectories: true)
        for options in [DownloadRequest.Options.removePreviousFile, []] {
            let error = #expect(throws: CurlewError.self) {
                try made(in: scratch).move(to: scratch.file("a"), options: options)
            }
            #expect(error?.code == (options.isEmpty ? .destinationExists : .moveFailed))
            if !options.isEmpty { #expect(error?.reason.contains("a directory of that name is in the way") == true) }
        }
        #expect(scratch.names == ["a"])
    }

    @Test("a missing directory is an error, or is created on request")
    func missingDirectory() throws {
        let scratch = try ScratchDirectory()
        let target = scratch.file("x/y/a")
        let error = #expect(throws: CurlewError.self) { try made(in: scratch).move(to: target, options: []) }
        #expect(error?.code == .destinationMissing)
        #expect((error?.underlying as? CocoaError)?.code == .fileNoSuchFile)
        #expect(error?.native?.name == "ENOENT")
        #expect(scratch.names == [])
        try made(in: scratch).move(to: target, options: .createIntermediateDirectories)
        #expect(target.text == "new")
    }

    @Test("a file on another file system is copied and leaves no temporary file")
    func acrossFileSystems() throws {
        let scratch = try ScratchDirectory()
        guard FileManager.default.isWritableFile(atPath: "/dev/shm") else { return }
        let other = try ScratchDirectory(in: URL(filePath: "/dev/shm"))
        let big = String(repeating: "0123456789abcdef", count: 40_000)
        try made(in: other, big).move(to: scratch.file("a"), options: [])
        #expect(scratch.file("a").text == big)
        #expect(scratch.names == ["a"])
        #expect(other.names == [])
        #expect(throws: CurlewError.self) { try made(in: other, big).move(to: scratch.file("a"), options: []) }
        try made(in: other).move(to: scratch.file("a"), options: .removePreviousFile)
        #expect(scratch.file("a").text == "new")
        #expect(scratch.names == ["a"])
        #expect(other.names == [])
    }

    @Test("a file whose directory was removed is moved only if the directory may be created again")
    func directoryRemoved() throws {
        let scratch = try ScratchDirectory()
        let folder = scratch.file("folder")
        for recreate in [false, true] {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let file = try TemporaryFile.create(in: folder.plainPath)
            try write("survives", to: file)
            try FileManager.default.removeItem(at: folder)
            let target = folder.appending(path: "a")
            if recreate {
                try file.move(to: target, options: .createIntermediateDirectories)
                #expect(target.text == "survives")
            } else {
                let error = #expect(throws: CurlewError.self) { try file.move(to: target, options: []) }
                #expect(error?.code == .destinationMissing)
                #expect(scratch.names == [])
            }
        }
    }

    @Test("writing to a full disk fails with diskFull")
    func fullDisk() throws {
        let full = try OpenFile.existing("/dev/full")
        let error = #expect(throws: CurlewError.self) {
            try [UInt8](repeating: 1, count: 10).withUnsafeBytes { try full.write($0, at: 0) }
        }
        #expect(error?.code == .diskFull)
        #expect(error?.native == CurlewError.NativeCode(number: Int(ENOSPC), name: "ENOSPC"))
    }

    @Test("writing to a discarded file is an error")
    func writeAfterEnd() throws {
        let scratch = try ScratchDirectory()
        let file = try made(in: scratch)
        file.discard()
        let error = #expect(throws: CurlewError.self) { try write("x", to: file) }
        #expect(error?.native?.name == "EBADF")
    }

    @Test(
        "error numbers of the system have their error codes",
        arguments: [
            (ENOSPC, CurlewError.Code.diskFull), (EDQUOT, .diskFull), (EFBIG, .diskFull), (ENOENT, .destinationMissing),
            (ENOTDIR, .destinationMissing), (EEXIST, .destinationExists), (EACCES, .moveFailed), (EROFS, .moveFailed),
            (EIO, .moveFailed), (EISDIR, .moveFailed),
        ])
    func codes(_ number: Int32, _ code: CurlewError.Code) {
        let error = FileFailure.error(number, "writing", "/tmp/x")
        #expect(error.code == code)
        #expect(error.native?.number == Int(number))
        #expect(error.native?.name.hasPrefix("E") == true)
    }

    @Test("a temporary file is created beside its destination if that directory exists")
    func beside() throws {
        let scratch = try ScratchDirectory()
        #expect(DestinationDirectory.forTemporaryFile(beside: scratch.file("a")) == scratch.path)
        #expect(
            DestinationDirectory.forTemporaryFile(beside: scratch.file("x/a")) == DestinationDirectory.temporary)
        #expect(DestinationDirectory.forTemporaryFile(beside: nil) == DestinationDirectory.temporary)
    }

    @Test("an opening that is cancelled while it hashes the part removes its new directories and keeps the part")
    func cancelledOpening() throws {
        let scratch = try ScratchDirectory()
        let file = try made(in: scratch, "0123456789")
        file.keep()
        let url = try #require(URL(string: "http://example.org/"))
        let part = ResumeData(
            url: url, validator: .entityTag("\"1\""), bytesWritten: 10, expectedTotal: 20, file: file.url.plainPath)
        let target = scratch.file("x/y/a")
        let opening = DownloadOpening(
            role: .rest(of: part, at: 10),
            response: LazyResponse(url: url, head: ResponseHead(status: 206)),
            destination: { _, _ in (target, [.createIntermediateDirectories]) },
            checksums: [try #require(Checksum(.sha256, hex: String(repeating: "0", count: 64)))],
            isCancelled: { true })
        let error = #expect(throws: CurlewError.self) { _ = try opening.open() }
        #expect(error?.code == .cancelled)
        #expect(!scratch.names.contains("x"))
        _ = try TemporaryFile.reopen(file.url.plainPath, keeping: 10)
    }

    @Test("a partial file that another download was writing stays, even if that download has kept it meanwhile")
    func takenPart() async throws {
        let scratch = try ScratchDirectory()
        let other = try made(in: scratch, "0123456789")
        let url = try #require(URL(string: "http://example.org/"))
        let part = ResumeData(
            url: url, validator: .entityTag("\"1\""), bytesWritten: 10, expectedTotal: 20, file: other.url.plainPath)
        let request = Session().download(resumingWith: part.encoded)
        let file = ResponseFile(onStartOver: { isTaken in
            // The other download lets go of the part after this one has found it in use.
            other.keep()
            request.startOver(partIsTaken: isTaken)
        })
        let opening = DownloadOpening(
            role: .rest(of: part, at: 10),
            response: LazyResponse(url: url, head: ResponseHead(status: 206)),
            destination: nil,
            checksums: [],
            isCancelled: { false })
        file.open(by: opening, resuming: nil) { _ in Issue.record("the part was opened") }
        await file.lane.barrier()
        guard case .startsOver = file.phase else {
            Issue.record("the download did not start over")
            return
        }
        #expect(other.url.text == "0123456789")
        #expect(request.downloadRecord.withLock { $0.part.resumable == nil })
    }

    @Test("a partial file in use is removed when its download starts over, unless the session has a journal")
    func ownPartInUse() throws {
        let scratch = try ScratchDirectory()
        let url = try #require(URL(string: "http://example.org/"))
        let journaling = Session(
            configuration: SessionConfiguration { $0.downloadJournal = DownloadJournal(directory: scratch.file("j")) })
        for (session, isLeft) in [(Session(), false), (journaling, true)] {
            let file = try made(in: scratch, "0123456789")
            file.keep()
            let part = ResumeData(
                url: url, validator: .entityTag("\"1\""), bytesWritten: 10, expectedTotal: 20,
                file: file.url.plainPath)
            let request = session.download(url)
            request.downloadRecord.withLock { $0.part = .kept(part) }
            request.startOver(partIsTaken: true)
            #expect((file.url.text != nil) == isLeft)
        }
    }

    @Test("created directories are removed if they are empty, others are kept")
    func madeDirectories() throws {
        let scratch = try ScratchDirectory()
        let made = try DestinationDirectory.create(scratch.path + "/x/y/z")
        #expect(made == ["/x", "/x/y", "/x/y/z"].map { scratch.path + $0 })
        #expect(try DestinationDirectory.create(scratch.path + "/x/y") == [])
        try Data().write(to: scratch.file("x/keep"))
        DestinationDirectory.removeIfEmpty(made)
        #expect(scratch.names == ["x"])
        #expect(FileManager.default.fileExists(atPath: scratch.file("x/keep").plainPath))
        #expect(!FileManager.default.fileExists(atPath: scratch.file("x/y").plainPath))
    }

    @Test(
        "a suggested name is one harmless component of the header, or else of the URL",
        arguments: [
            ("attachment; filename=\"a.txt\"", "http://h/x.bin", "a.txt" as String?),
            ("attachment; filename=\"../../etc/passwd\"", "http://h/x.bin", "passwd"),
            ("attachment; filename*=UTF-8''na%C3%AFve.txt", "http://h/x.bin", "naïve.txt"),
            ("attachment; filename=\"..\"", "http://h/x.bin", "x.bin"), (nil, "http://h/dir/x.bin?y=1", "x.bin"),
            (nil, "http://h/", nil), (nil, "http://h", nil), ("inline", "http://h/a%2F..%2Fb", "b"),
        ])
    func suggested(_ disposition: String?, _ url: String, _ expected: String?) {
        #expect(SuggestedFilename.make(disposition: disposition, url: URL(string: url)) == expected)
    }

    @Test("a file lane keeps the order of its work and passes errors on")
    func lane() async throws {
        let lane = FileLane.next()
        let order = AsyncStream.makeStream(of: Int.self)
        for index in 0..<100 { lane.enqueue { order.continuation.yield(index) } }
        lane.enqueue { order.continuation.finish() }
        var seen: [Int] = []
        for await index in order.stream { seen.append(index) }
        #expect(seen == Array(0..<100))
        let failure = await #expect(throws: CurlewError.self) {
            try await lane.run { () throws(CurlewError) in throw CurlewError(.diskFull, phase: .file) }
        }
        #expect(failure?.code == .diskFull)
        #expect(try await lane.run { () throws(CurlewError) in 7 } == 7)
    }
}
