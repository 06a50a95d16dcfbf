import CurlewCore
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

/// A process that is killed in the middle of a download. This test program starts itself again as that process.
@Suite("Downloads of killed processes", .timeLimit(.minutes(2)))
struct KilledProcessTests {
    static let urlName = "CURLEW_TEST_DOWNLOAD_URL"
    static let folderName = "CURLEW_TEST_DOWNLOAD_FOLDER"
    static let notesName = "CURLEW_TEST_DOWNLOAD_NOTES"

    @Test("a download continues with the resume data that a killed process saved")
    func killed() async throws {
        let service = try FileService { $0.stall = 900_000 }
        let scratch = try ScratchDirectory()
        // In a separate directory: a process that is killed while it writes a note may leave a temporary file there.
        let notes = try ScratchDirectory()
        let child = Process()
        child.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        child.arguments = ["--testing-library", "swift-testing", "--filter", "KilledProcessTests/downloadUntilKilled"]
        child.environment = ProcessInfo.processInfo.environment.merging(
            [Self.urlName: service.url, Self.folderName: scratch.path, Self.notesName: notes.path]
        ) { $1 }
        child.standardOutput = FileHandle.nullDevice
        child.standardError = FileHandle.nullDevice
        try child.run()
        let kept = notes.file("resume")
        var data = Data()
        while (try? ResumeData(data))?.bytesWritten ?? 0 < 500_000 {
            try #require(child.isRunning)
            try await Task.sleep(for: .milliseconds(5))
            data = (try? Data(contentsOf: kept)) ?? Data()
        }
        kill(child.processIdentifier, SIGKILL)
        child.waitUntilExit()
        #expect(child.terminationReason == .uncaughtSignal)
        #expect(scratch.names.count == 1, "the part")

        service.change { $0.stall = nil }
        let url = try await Session().download(resumingWith: data, to: destination(scratch.file("a")))
            .checksum(.sha256, try Digest.sha256(of: service.contents)).file()
        #expect(try Data(contentsOf: url) == service.contents)
        #expect(scratch.names == ["a"])
        #expect(service.ranges.last??.hasPrefix("bytes=") == true)
    }

    /// Runs in the process that is killed; without its environment the test is disabled.
    @Test(
        "helper process: downloads a file until it is killed",
        .enabled(if: ProcessInfo.processInfo.environment[urlName] != nil))
    func downloadUntilKilled() async throws {
        let environment = ProcessInfo.processInfo.environment
        let folder = URL(filePath: try #require(environment[Self.folderName]), directoryHint: .isDirectory)
        let notes = URL(filePath: try #require(environment[Self.notesName]), directoryHint: .isDirectory)
        let request = Session().download(
            try #require(environment[Self.urlName]), to: destination(folder.appending(path: "a")))
        request.downloadProgress(queue: DispatchQueue(label: "p")) { [weak request] _ in
            try? request?.currentResumeData?.write(to: notes.appending(path: "resume"), options: .atomic)
        }
        _ = await request.response()
    }
}
