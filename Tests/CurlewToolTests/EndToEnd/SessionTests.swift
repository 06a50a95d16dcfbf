import CurlewCore
import CurlewTesting
import Foundation
import Testing

@testable import CurlewTool

@Suite("curlew --session", .timeLimit(.minutes(4)))
struct SessionFileTests: ToolSuite {
    let place: ToolPlace

    init() throws { place = try ToolPlace() }

    private func run(_ arguments: String...) async throws -> ToolProcess.Outcome {
        var tool = tool(arguments)
        tool.environment = ["XDG_CONFIG_HOME": folder.url.path]
        return try await tool.run()
    }

    private var path: String { "curlew/sessions/localhost_\(server.port)/me.json" }

    @Test func keepsHeadersCookiesAndCredentials() async throws {
        #expect(
            try await run("--session=me", "-a", "u:p", base + "/cookies/set/a/b", "X-A:1", "Content-Type:x/y").status
                == 0)
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.url.appending(path: path).path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(try await run("--session=me", base + "/get").status == 0)
        let request = try #require(server.requests.last)
        #expect(request.headers["X-A"] == "1")
        #expect(request.headers["Content-Type"] == nil)
        #expect(request.headers["Cookie"] == "a=b")
        #expect(request.headers["Authorization"] == "Basic dTpw")
    }

    @Test("downloads store and send the fields and cookies of a session, also several at once")
    func downloadsKeepCookies() async throws {
        let first = try await run(
            "--session=me", "--download", base + "/cookies/set/a/b", base + "/cookies/set/c/d", "X-A:1")
        #expect(first.status == 0)
        #expect(try await run("--session=me", "--download", base + "/get").status == 0)
        let request = try #require(server.requests.last)
        #expect(request.headers["X-A"] == "1")
        let cookies = try #require(request.headers["Cookie"]).components(separatedBy: "; ")
        #expect(Set(cookies) == ["a=b", "c=d"])
    }

    @Test func showsTheCookiesItSends() async throws {
        _ = try await run("--session=me", base + "/cookies/set/a/b")
        let outcome = try await run("--session=me", "--offline", base + "/get")
        #expect(outcome.lines.contains("Cookie: a=b"))
    }

    @Test(
        "saving a session leaves a file or link with a predictable temporary name untouched", arguments: [true, false])
    func savingKeepsFileWithPredictableName(_ isLink: Bool) throws {
        let victim = try folder.write("victim", "mine").path
        let planted = folder.url.appending(path: "s.json.\(getpid()).new").path
        if isLink {
            try FileManager.default.createSymbolicLink(atPath: planted, withDestinationPath: victim)
        } else {
            // The owner of a hard link could read the secrets through it.
            try FileManager.default.linkItem(atPath: victim, toPath: planted)
        }
        let path = folder.url.appending(path: "s.json").path
        try SessionFile(path: path).save(StoredSession())
        #expect(folder.read("victim") == Data("mine".utf8))
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(attributes[.referenceCount] as? Int == 1)
        #expect(Set(folder.names) == ["victim", "s.json", "s.json.\(getpid()).new"])
    }

    @Test func readOnlySessionIsNotWritten() async throws {
        #expect(try await run("--session-read-only=me", base + "/get", "X-A:1").status == 0)
        #expect(folder.read(path) == nil)
        let file = try folder.write("s.json", "{}").path
        #expect(try await run("--session", file, base + "/get", "X-A:1").status == 0)
        #expect(String(decoding: folder.read("s.json") ?? Data(), as: UTF8.self).contains("\"X-A\""))
        _ = try folder.write("broken.json", "[")
        #expect(try await run("--session", folder.url.path + "/broken.json", base + "/get").status == 1)
    }

    // MARK: Origins of credentials

    @Test("a session file is used only for the origin that it was stored for")
    func isBoundToItsOrigin() async throws {
        let other = try TestServer()
        let path = folder.url.path + "/s.json"
        #expect(try await run("--session", path, "-a", "u:p", ":\(server.port)/cookies/set/a/b", "X-A:1").status == 0)
        let elsewhere = try await run("--session", path, ":\(other.port)/get")
        #expect(elsewhere.status == 1)
        #expect(elsewhere.errors.contains("are for http://localhost:\(server.port), and not sent to"))
        #expect(other.requests.isEmpty)
        #expect(try await run("--session", path, "localhost:\(server.port)/get").status == 0)
        #expect(server.requests.last?.headers["Authorization"] == "Basic dTpw")
    }

    @Test("fields of a session file are not sent after a redirect to another origin")
    func staysBehindAtAnotherOrigin() async throws {
        let other = try TestServer()
        let path = folder.url.path + "/s.json"
        #expect(try await run("--session", path, ":\(server.port)/get", "X-Plain:1").status == 0)
        server.script("/away", .redirect(to: other.url("/get").absoluteString))
        server.script("/near", .redirect(to: "/get"))
        #expect(try await run("-F", "--session", path, ":\(server.port)/away", "X-Given:2").status == 0)
        let request = try #require(other.requests.last)
        #expect(request.headers["X-Plain"] == nil)
        #expect(request.headers["X-Given"] == "2")
        #expect(try await run("-F", "--session", path, ":\(server.port)/near").status == 0)
        #expect(server.requests.last?.headers["X-Plain"] == "1")
    }

    @Test("a session file with cookies alone has no origin, and the first stored field sets it")
    func cookiesHaveTheirOwnDomains() async throws {
        let other = try TestServer()
        let path = folder.url.path + "/s.json"
        #expect(try await run("--session", path, ":\(server.port)/cookies/set/a/b").status == 0)
        #expect(try await run("--session", path, ":\(other.port)/get", "X-A:1").status == 0)
        #expect(other.requests.last?.headers["Cookie"] == "a=b")
        #expect(try await run("--session", path, ":\(server.port)/get").status == 1)
    }

    @Test("a session file without an origin is refused as a path and used as a named session")
    func filesWithoutOrigin() async throws {
        let text = #"{"headers":[{"name":"X-A","value":"1"}],"cookies":[{"name":"c","value":"d"}]}"#
        let file = try folder.write("s.json", text).path
        let outcome = try await run("--session", file, ":\(server.port)/get")
        #expect(outcome.status == 1 && outcome.errors.contains("does not say which server"))
        #expect(server.requests.isEmpty)
        let named = folder.url.appending(path: self.path)
        try FileManager.default.createDirectory(
            at: named.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: named)
        #expect(try await run("--session=me", ":\(server.port)/get").status == 0)
        #expect(server.requests.last?.headers["X-A"] == "1")
        // A stored cookie without a domain is sent to no server.
        #expect(server.requests.last?.headers["Cookie"] == nil)
    }

    @Test(
        "origins are normalized",
        arguments: [
            ("http://Example.org:80/x", "http://example.org"), ("wss://example.org", "https://example.org"),
            ("https://[::1]:443/", "https://[::1]"), ("https://example.org:80/", "https://example.org:80"),
        ])
    func origins(url: String, origin: String) { #expect(URLParts(url).origin == origin) }

    @Test("credentials that were stored for https are not sent over http")
    func schemes() throws {
        var session = StoredSession()
        session.headers = [HeaderField("X-A", "1")]
        session.origin = "https://example.org"
        #expect(throws: UsageError.self) { try session.check("http://example.org", isByHost: true, path: "me") }
        #expect(throws: Never.self) { try session.check("https://example.org", isByHost: true, path: "me") }
    }
}
