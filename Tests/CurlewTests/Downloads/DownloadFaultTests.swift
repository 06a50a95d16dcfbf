import CurlewCore
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

@Suite("Download faults", .timeLimit(.minutes(5)))
struct DownloadFaultTests {
    let session = Session()

    @Test("a download over a hundred broken connections gets the right 64 MiB")
    func hundredCuts() async throws {
        let length = 64 << 20
        let service = try FileService {
            $0.length = length
            let offsets = (0..<100).map { _ in Int.random(in: 0..<length) }.sorted()
            $0.cuts = zip(offsets, [0] + offsets).map { $0 - $1 }
        }
        let scratch = try ScratchDirectory()
        // Just above the delay that counts as none: without a delay, a hundred retries would be limited to one per
        // second.
        let policy = RetryPolicy(retryLimit: 200, exponentialBackoffScale: 0.06, jitter: .none, maximumDelay: 0.06)
        let request = session.download(service.url, interceptor: policy, to: destination(scratch.file("a")))
        let url = try await request.file()
        #expect(try Digest.sha256(of: url) == Digest.sha256(of: service.contents))
        #expect(scratch.names == ["a"])
        #expect(request.retryCount == 100)
        // Bytes that a reset discards in transit are requested again, so a request may begin before the last cut.
        let starts = service.ranges.map { range in range.flatMap { Int($0.dropFirst("bytes=".count).dropLast()) } ?? 0 }
        #expect(starts.count == 101 && starts == starts.sorted())
        // Without resume data every request would begin at 0.
        #expect(Set(starts).count > 10)
    }

    @Test("a download cut at any offset is completed by another, with resume data if there is any")
    func everyOffset() async throws {
        let length = 256 << 10
        let service = try FileService { $0.length = length }
        let scratch = try ScratchDirectory()
        let sum = try Digest.sha256(of: service.contents)
        var resumed = 0
        for cut in [0, 1, 2, length - 2, length - 1] + (0..<30).map({ _ in Int.random(in: 0..<length) }) {
            service.change { $0.cuts = [cut] }
            let request = session.download(service.url, to: destination(scratch.file("a"), .removePreviousFile))
            await #expect(throws: CurlewError.self) { try await request.file() }
            let url: URL
            if let data = request.resumeData {
                resumed += 1
                url = try await session.download(
                    resumingWith: data, to: destination(scratch.file("a"), .removePreviousFile)
                ).checksum(.sha256, sum).file()
                let part = try ResumeData(data)
                let range = service.server.requests.last?.headers["Range"]
                #expect(range == "bytes=\(part.bytesWritten)-", "cut at \(cut)")
            } else {
                url = try await session.download(
                    service.url, to: destination(scratch.file("a"), .removePreviousFile)
                ).file()
            }
            #expect(try Digest.sha256(of: url) == sum, "cut at \(cut)")
            #expect(scratch.names == ["a"])
        }
        // A reset may discard all bytes of a response, but not of every response.
        #expect(resumed > 0)
    }

    @Test("a partial file that is longer than its resume data says is completed without damage")
    func killedProcess() async throws {
        let service = try FileService { $0.stall = 800_000 }
        let scratch = try ScratchDirectory()
        let (snapshots, teller) = AsyncStream.makeStream(of: Data.self)
        let request = session.download(service.url, to: destination(scratch.file("a")))
        request.downloadProgress(queue: DispatchQueue(label: "p")) { [weak request] progress in
            if let data = request?.currentResumeData { teller.yield(data) }
            if progress.completedUnitCount == 800_000 { teller.finish() }
        }
        async let ended = request.response()
        var kept: [Data] = []
        for await data in snapshots { kept.append(data) }
        var part = try ResumeData(try #require(kept.first))
        // Simulates a dead process: a copy of the present file under a temporary name.
        let left = URL(filePath: TemporaryName.make(in: scratch.path))
        try FileManager.default.copyItem(atPath: part.file, toPath: left.plainPath)
        request.cancel()
        _ = await ended
        #expect(scratch.names == [left.lastPathComponent])
        part.file = left.plainPath
        // The process had written more than its resume data says, and these bytes are wrong on the disk.
        let handle = try FileHandle(forWritingTo: left)
        _ = try handle.seekToEnd()
        try handle.write(contentsOf: Data(repeating: 0xFF, count: 1000))
        try handle.close()

        service.change { $0.stall = nil }
        let url = try await session.download(resumingWith: part.encoded, to: destination(scratch.file("a")))
            .checksum(.sha256, try Digest.sha256(of: service.contents)).file()
        #expect(try Data(contentsOf: url) == service.contents)
        #expect(scratch.names == ["a"])
        #expect(service.ranges == [nil, "bytes=\(part.bytesWritten)-"])
    }

    @Test("a full disk fails only the downloads that write to it", .enabled(if: SmallDisk.isAvailable))
    func fullDiskBesideOthers() async throws {
        let small = try ScratchDirectory()
        try SmallDisk.mount(at: small.path)
        defer { SmallDisk.unmount(small.path) }
        let scratch = try ScratchDirectory()
        let service = try FileService { $0.length = 700_000 }
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for index in 0..<8 {
                let place = index % 2 == 0 ? small : scratch
                group.addTask {
                    let request = session.download(service.url, to: destination(place.file("f\(index)")))
                    do throws(CurlewError) {
                        let url = try await request.file()
                        return try! Data(contentsOf: url) == service.contents  // SAFETY: a test
                    } catch {
                        #expect(error.code == .diskFull)
                        #expect(place === small)
                        return true
                    }
                }
            }
            for try await isRight in group { #expect(isRight) }
        }
        #expect(scratch.names == ["f1", "f3", "f5", "f7"])
        #expect(small.names.allSatisfy { !$0.hasPrefix(".") })
    }

    @Test("completed and cancelled downloads leave no open or temporary file")
    func noLeaks() async throws {
        let service = try FileService { $0.length = 100_000 }
        let scratch = try ScratchDirectory()
        for round in 0..<3 {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<20 {
                    group.addTask {
                        let request = session.download(
                            service.url, to: destination(scratch.file("\(round)-\(index)")))
                        if index % 3 == 0 { request.cancel() }
                        _ = await request.response()
                    }
                }
                try await group.waitForAll()
            }
        }
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + $0)
        }
        #expect(!open.contains { $0.hasPrefix(scratch.path) })
        #expect(scratch.names.allSatisfy { !$0.hasPrefix(".") })
        #expect(await session.activeRequests.isEmpty)
    }
}
