import CurlewCore
import CurlewTesting
import Foundation
import Glibc
import Testing

@testable import Curlew

/// RLIMIT_FSIZE applies to a whole process, so this test program starts itself again as the limited process.
@Suite("Downloads in a process with a file size limit", .timeLimit(.minutes(2)))
struct FileSizeLimitTests {
    static let urlName = "CURLEW_TEST_LIMITED_URL"
    static let folderName = "CURLEW_TEST_LIMITED_FOLDER"
    static let segmentsName = "CURLEW_TEST_LIMITED_SEGMENTS"

    @Test(
        "exceeding the file size limit fails with diskFull, leaves no file and does not end the process",
        arguments: [1, 3])
    func limited(_ segments: Int) async throws {
        let service = try FileService { $0.length = 8 << 20 }
        let scratch = try ScratchDirectory()
        let child = Process()
        child.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        child.arguments = ["--testing-library", "swift-testing", "--filter", "FileSizeLimitTests/downloadWithLimit"]
        child.environment = ProcessInfo.processInfo.environment.merging(
            [Self.urlName: service.url, Self.folderName: scratch.path, Self.segmentsName: "\(segments)"]
        ) { $1 }
        child.standardOutput = FileHandle.nullDevice
        child.standardError = FileHandle.nullDevice
        let (ended, continuation) = AsyncStream.makeStream(of: Int32.self)
        child.terminationHandler = { process in
            continuation.yield(process.terminationReason == .exit ? 0 : process.terminationStatus)
            continuation.finish()
        }
        try child.run()
        for await signal in ended { #expect(signal == 0) }
        #expect(scratch.file("outcome").text == "diskFull EFBIG, then 1000 bytes")
        #expect(scratch.names == ["outcome", "small"])
    }

    /// Runs in the limited process only; without its environment the test is disabled. SIGXFSZ keeps its default
    /// action, which is to end the process.
    @Test(
        "helper process: downloads a file above its file size limit",
        .enabled(if: ProcessInfo.processInfo.environment[urlName] != nil))
    func downloadWithLimit() async throws {
        let environment = ProcessInfo.processInfo.environment
        let folder = URL(filePath: try #require(environment[Self.folderName]), directoryHint: .isDirectory)
        let url = try #require(environment[Self.urlName])
        let segments = try #require(environment[Self.segmentsName].flatMap(Int.init))
        signal(SIGXFSZ, SIG_DFL)
        var limit = rlimit(rlim_cur: 2 << 20, rlim_max: 2 << 20)
        #expect(setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)

        let session = Session()
        var outcome = "no error"
        do throws(CurlewError) {
            _ = try await session.download(url, to: destination(folder.appending(path: "large"))).segments(segments)
                .file()
        } catch {
            outcome = "\(error.code.rawValue) \(error.native?.name ?? "")"
        }
        // Files within the limit can still be written.
        let small = try await session.request(url, headers: ["Range": "bytes=0-999"]).data()
        try small.write(to: folder.appending(path: "small"))
        outcome += ", then \(small.count) bytes"
        try Data(outcome.utf8).write(to: folder.appending(path: "outcome"))
    }
}
