import CurlewTesting
import Foundation
import Testing

@testable import CurlewTool

@Suite("Files with secrets")
struct PrivateFileTests {
    private let folder: ScratchDirectory

    init() throws { folder = try ScratchDirectory() }

    private func mode(of name: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.file(name).path)
        return try #require(attributes[.posixPermissions] as? NSNumber).intValue
    }

    @Test func replacesWhatOthersCouldRead() throws {
        try folder.write("file", "old, and longer")
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: folder.file("file").path)
        try PrivateFile.replace(folder.file("file").path, with: Array("new".utf8))
        #expect(folder.read("file") == Data("new".utf8))
        #expect(try mode(of: "file") == 0o600)
        #expect(folder.names == ["file"])
    }

    @Test func takesTheLongestName() throws {
        let name = String(repeating: "n", count: 255)
        try PrivateFile.replace(folder.file(name).path, with: Array("new".utf8))
        #expect(folder.names == [name])
    }

    @Test func replacesALinkInsteadOfWhatItNames() throws {
        try folder.write("other", "untouched")
        try FileManager.default.createSymbolicLink(at: folder.file("link"), withDestinationURL: folder.file("other"))
        try PrivateFile.replace(folder.file("link").path, with: Array("new".utf8))
        #expect(folder.read("other") == Data("untouched".utf8))
        #expect(folder.read("link") == Data("new".utf8))
    }

    @Test func leavesNothingBehindWhereItCannotReplace() throws {
        try FileManager.default.createDirectory(at: folder.file("taken"), withIntermediateDirectories: false)
        #expect(throws: OutputFile.Failure.self) {
            try PrivateFile.replace(folder.file("taken").path, with: Array("new".utf8))
        }
        #expect(folder.names == ["taken"])
    }
}
