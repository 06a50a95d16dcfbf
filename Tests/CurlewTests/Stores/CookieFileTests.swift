import CurlewCore
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

@Suite("Cookies in a file", .timeLimit(.minutes(4)))
struct CookieFileTests {
    /// Returns, for each response, whether it caused the file to be written.
    private func writes(_ fields: [String], keepsSessionCookies: Bool = false) async throws -> [Bool] {
        let scratch = try ScratchDirectory()
        let file = scratch.file("cookies.txt")
        let jar = CookieJar(file: file, keepsSessionCookies: keepsSessionCookies)
        var writes: [Bool] = []
        for field in fields {
            jar.receive(["Set-Cookie": field], from: try #require(URL(string: "https://a.test/")))
            await jar.file?.untilWritten()
            writes.append(scratch.names == ["cookies.txt"])
            try? FileManager.default.removeItem(at: file)
        }
        return writes
    }

    /// An expiry date within the 400 days that a cookie may live: a later one is stored as now plus 400 days, so the same
    /// field received a second later would change the file.
    private static let expiry = HTTPDate.string(from: Date(timeIntervalSinceNow: 30 * 86_400))
    private let dated = "kept=1; Expires=\(expiry)"

    @Test func sessionCookieDoesNotWriteTheFile() async throws {
        #expect(try await writes([dated, "s=1", "s=2", dated]) == [true, false, false, false])
        #expect(try await writes([dated, "kept=2; Expires=\(Self.expiry)"]) == [true, true])
    }

    @Test func keptSessionCookiesWriteTheFile() async throws {
        #expect(try await writes(["s=1", "s=1", "s=2"], keepsSessionCookies: true) == [true, false, true])
    }

    /// `save()` writes even if the jar has not changed, and so restores a file that another program removed or changed.
    @Test func saveWritesTheFileEvenIfUnchanged() async throws {
        let scratch = try ScratchDirectory()
        let jar = CookieJar(file: scratch.file("cookies.txt"))
        jar.receive(["Set-Cookie": dated], from: try #require(URL(string: "https://a.test/")))
        try await jar.save()
        let text = try String(contentsOf: scratch.file("cookies.txt"), encoding: .utf8)
        try FileManager.default.removeItem(at: scratch.file("cookies.txt"))
        try await jar.save()
        #expect(try String(contentsOf: scratch.file("cookies.txt"), encoding: .utf8) == text)
        #expect(text.contains("kept"))
    }
}
