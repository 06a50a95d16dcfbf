import Curlew
import CurlewLocks
import CurlewTesting
import Foundation
import Glibc
import Testing

@Suite("Stored cookies and HSTS entries", .timeLimit(.minutes(4)))
struct KeptStateTests {
    private func mode(_ url: URL) -> mode_t? {
        var status = stat()
        return stat(url.plainPath, &status) == 0 ? status.st_mode & 0o777 : nil
    }

    private func cookie(_ name: String, _ value: String) -> Cookie {
        Cookie(
            name: name, value: value, domain: "example.org", path: "/", expires: Date(timeIntervalSinceNow: 3600),
            created: Date())
    }

    @Test func cookiesAreWrittenForThisUserOnly() async throws {
        let scratch = try ScratchDirectory()
        let file = scratch.file("cookies.txt")
        // The existing file is readable by other users.
        try "# Netscape HTTP Cookie File\n".write(to: file, atomically: false, encoding: .utf8)
        _ = chmod(file.plainPath, 0o644)
        let transport = MockTransport { _ in
            .status(200, headers: ["Set-Cookie": "sid=secret; Max-Age=1000; Path=/"])
        }
        let jar = CookieJar(file: file)
        let session = Session(configuration: SessionConfiguration { $0.cookies = jar }, transport: transport)
        _ = try await session.request("https://example.org/").data()
        try await jar.save()
        #expect(mode(file) == 0o600)
        // No partly written file is left.
        #expect(scratch.names == ["cookies.txt"])
        let again = CookieJar(file: file)
        #expect(again.cookies.map(\.pair) == ["sid=secret"])
    }

    @Test(arguments: [false, true])
    func cookiesOfTheSessionAreKeptInTheFileIfAsked(keeps: Bool) async throws {
        let scratch = try ScratchDirectory()
        let file = scratch.file("cookies.txt")
        let jar = CookieJar(file: file, keepsSessionCookies: keeps)
        var fields: HTTPHeaders = ["Set-Cookie": "sid=secret"]
        fields.append(name: "Set-Cookie", value: "kept=1; Max-Age=1000")
        let transport = MockTransport { [fields] _ in .status(200, headers: fields) }
        let session = Session(configuration: SessionConfiguration { $0.cookies = jar }, transport: transport)
        _ = try await session.request("https://example.org/").data()
        #expect(jar.cookies.map(\.pair) == ["sid=secret", "kept=1"])
        try await jar.save()
        let read = CookieJar(file: file).cookies
        #expect(read.map(\.pair) == (keeps ? ["sid=secret", "kept=1"] : ["kept=1"]))
        #expect(read.first?.expires == nil || !keeps)
    }

    @Test func cookieJarReadsTheIntactPartOfDamagedFile() async throws {
        let scratch = try ScratchDirectory()
        let file = scratch.file("cookies.txt")
        let jar = CookieJar(file: file)
        for index in 0..<20 { jar.set(cookie("name\(index)", "välue\(index)")) }
        try await jar.save()
        let whole = try Data(contentsOf: file)
        #expect(CookieJar(file: file).cookies.count == 20)
        for length in stride(from: 0, through: whole.count, by: 7) {
            try whole.prefix(length).write(to: file)
            let complete = whole.prefix(length).count { $0 == 10 }
            let names = CookieJar(file: file).cookies.count
            // Two lines are the header. The last line, which is cut, may still be a valid cookie.
            #expect((max(0, complete - 2)...max(0, complete - 1)).contains(names))
        }
        try Data((0..<4096).map { _ in UInt8.random(in: 0...255) }).write(to: file)
        _ = CookieJar(file: file).cookies
        try FileManager.default.removeItem(at: file)
        #expect(CookieJar(file: file).cookies.isEmpty)
    }

    @Test func readerSeesOldOrNewCookieFileNeverAPart() async throws {
        let scratch = try ScratchDirectory()
        let file = scratch.file("cookies.txt")
        let jar = CookieJar(file: file)
        jar.set(cookie("first", "x"))
        try await jar.save()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for round in 0..<50 {
                    jar.set(self.cookie("c\(round)", String(repeating: "v", count: 3000)))
                    try await jar.save()
                }
            }
            group.addTask {
                for _ in 0..<200 {
                    let text = try #require(file.text)
                    #expect(text.hasPrefix("# Netscape") && text.hasSuffix("\n") && text.contains("first"))
                    await Task.yield()
                }
            }
            try await group.waitForAll()
        }
        #expect(CookieJar(file: file).cookies.count == 51)
    }

    @Test func cookiesSetDuringRemovalOfOthersAreKept() async {
        let jar = CookieJar()
        for index in 0..<50 { jar.set(cookie("old\(index)", "x")) }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { jar.remove { $0.name.hasPrefix("old") } }
            group.addTask { for index in 0..<50 { jar.set(self.cookie("new\(index)", "y")) } }
        }
        #expect(jar.cookies.count { $0.name.hasPrefix("new") } == 50)
        #expect(jar.cookies.count { $0.name.hasPrefix("old") } == 0)
    }

    @Test func hstsPoliciesAreKeptInAFile() async throws {
        let scratch = try ScratchDirectory()
        let file = scratch.file("hsts.json")
        let transport = MockTransport { _ in
            .status(204, headers: ["Strict-Transport-Security": "max-age=1000; includeSubDomains"])
        }
        let store = HSTSStore(file: file)
        let session = Session(configuration: SessionConfiguration { $0.hsts = store }, transport: transport)
        _ = await session.request("https://example.org/").response()
        try await store.save()
        #expect(mode(file) == 0o600)
        #expect(scratch.names == ["hsts.json"])
        let whole = try Data(contentsOf: file)
        #expect(HSTSStore(file: file).contains("sub.example.org"))
        for length in 0..<whole.count {
            try whole.prefix(length).write(to: file)
            let damaged = HSTSStore(file: file)
            #expect(!damaged.contains("example.org"))
        }
        // A damaged store stays usable, and its next change writes a complete file.
        let damaged = HSTSStore(file: file)
        let next = Session(configuration: SessionConfiguration { $0.hsts = damaged }, transport: transport)
        _ = await next.request("https://example.org/").response()
        try await damaged.save()
        #expect(HSTSStore(file: file).contains("example.org"))
    }

    @Test func unwritableCookieFileIsAnError() async throws {
        let jar = CookieJar(file: URL(filePath: "/nonexistent/folder/cookies.txt"))
        jar.set(cookie("a", "b"))
        await #expect(throws: CurlewError.self) { try await jar.save() }
        #expect(jar.cookies.count == 1)
    }
}
