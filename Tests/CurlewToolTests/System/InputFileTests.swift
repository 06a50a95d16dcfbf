import CurlewTesting
import Foundation
import Testing
@testable import CurlewTool

@Suite("Input from files and pipes", .timeLimit(.minutes(1)))
struct InputFileTests {
    /// Longer than the suite's time limit, so that a wait without an end fails the test.
    private static let long: Int32 = 600_000

    @Test func waitsForTheFirstByteOfAPipe() async throws {
        let pipe = Pipe()
        let descriptor = pipe.fileHandleForReading.fileDescriptor
        #expect(!InputFile.hasBytes(descriptor, within: 0))
        let began = Gate()
        async let isThere = Task.detached {
            began.open()
            return InputFile.hasBytes(descriptor, within: Self.long)
        }.value
        try await began.wait()
        try pipe.fileHandleForWriting.write(contentsOf: Data("x".utf8))
        #expect(await isThere)
        // The wait did not consume the byte.
        #expect(try InputFile.readPiece(descriptor) == [0x78])
    }

    @Test func closedPipeHasNoBytes() throws {
        let pipe = Pipe()
        try pipe.fileHandleForWriting.close()
        withExtendedLifetime(pipe) {
            #expect(!InputFile.hasBytes(pipe.fileHandleForReading.fileDescriptor, within: Self.long))
        }
    }

    @Test("a device is read up to a limit, and a regular file in full") func readsPipesUpToALimit() throws {
        #expect(throws: UsageError.self) { try InputFile.read("/dev/zero", streamLimit: 100_000) }
        #expect(try InputFile.read("/dev/null", streamLimit: 0) == [])
        let folder = try ScratchDirectory()
        let file = try folder.write("file", "1234").path
        #expect(try InputFile.read(file, streamLimit: 3).count == 4)
        #expect(!InputFile.isStream(file))
        #expect(!InputFile.isStream(folder.url.path))
        #expect(!InputFile.isStream("/nonexistent"))
        #expect(InputFile.isStream("/dev/null"))
    }

    @Test("the bytes of a pipe are kept for further reads") func keepsWhatAPipeGave() throws {
        let pipe = Pipe()
        try pipe.fileHandleForWriting.write(contentsOf: Data("once".utf8))
        try pipe.fileHandleForWriting.close()
        let path = "/proc/self/fd/\(pipe.fileHandleForReading.fileDescriptor)"
        defer { withExtendedLifetime(pipe) {} }
        let files = ItemFiles()
        #expect(try files.read(path) == Array("once".utf8))
        #expect(try files.read(path) == Array("once".utf8))
    }

    @Test func fileHasBytesUntilItsEnd() throws {
        let folder = try ScratchDirectory()
        try folder.write("text", "x")
        let file = try FileHandle(forReadingFrom: folder.url.appending(path: "text"))
        defer { try? file.close() }
        #expect(InputFile.hasBytes(file.fileDescriptor, within: 0))
        _ = try file.readToEnd()
        #expect(!InputFile.hasBytes(file.fileDescriptor, within: 0))
        let nothing = try #require(FileHandle(forReadingAtPath: "/dev/null"))
        #expect(!InputFile.hasBytes(nothing.fileDescriptor, within: Self.long))
        try nothing.close()
    }
}

@Suite("Files with secrets")
struct PrivateFileTests {
    private let folder: ScratchDirectory

    init() throws { folder = try ScratchDirectory() }

    private func mode(of name: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.file(name).path)
        return try #require(attributes[.posixPermissions] as? NSNumber).intValue
    }

    @Test func replacedFileIsPrivate() throws {
        try folder.write("file", "old, and longer")
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: folder.file("file").path)
        try PrivateFile.replace(folder.file("file").path, with: Array("new".utf8))
        #expect(folder.read("file") == Data("new".utf8))
        #expect(try mode(of: "file") == 0o600)
        #expect(folder.names == ["file"])
    }

    @Test func fileNameMayHaveMaximumLength() throws {
        let name = String(repeating: "n", count: 255)
        try PrivateFile.replace(folder.file(name).path, with: Array("new".utf8))
        #expect(folder.names == [name])
    }

    @Test func replacingALinkKeepsItsTarget() throws {
        try folder.write("other", "untouched")
        try FileManager.default.createSymbolicLink(at: folder.file("link"), withDestinationURL: folder.file("other"))
        try PrivateFile.replace(folder.file("link").path, with: Array("new".utf8))
        #expect(folder.read("other") == Data("untouched".utf8))
        #expect(folder.read("link") == Data("new".utf8))
    }

    @Test func failedReplacementLeavesNoFile() throws {
        try FileManager.default.createDirectory(at: folder.file("taken"), withIntermediateDirectories: false)
        #expect(throws: OutputFile.Failure.self) {
            try PrivateFile.replace(folder.file("taken").path, with: Array("new".utf8))
        }
        #expect(folder.names == ["taken"])
    }
}
