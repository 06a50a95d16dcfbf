import CurlewCore
import CurlewTesting
import Foundation
import Testing

@testable import CurlewTool

@Suite("curlew --session", .timeLimit(.minutes(4)))
struct SessionFileTests {
    private let server: TestServer
    private let folder: ScratchDirectory

    init() throws {
        server = try TestServer()
        folder = try ScratchDirectory()
    }

    private func run(_ arguments: String...) async throws -> ToolProcess.Outcome {
        var tool = ToolProcess()
        tool.arguments = arguments
        tool.environment = ["XDG_CONFIG_HOME": folder.url.path]
        tool.folder = folder.url
        return try await tool.run()
    }

    private var path: String { "curlew/sessions/localhost_\(server.port)/me.json" }

    @Test func keepsHeadersCookiesAndCredentials() async throws {
        let base = ":\(server.port)"
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

    @Test("downloads keep and send what a session holds, several of one host together")
    func downloadsKeepCookies() async throws {
        let base = ":\(server.port)"
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
        let base = ":\(server.port)"
        _ = try await run("--session=me", base + "/cookies/set/a/b")
        let outcome = try await run("--session=me", "--offline", base + "/get")
        #expect(outcome.lines.contains("Cookie: a=b"))
    }

    @Test("a file or link under the name that a process would guess is left alone", arguments: [true, false])
    func isNotWrittenWhereOthersPlantedSomething(_ isLink: Bool) throws {
        let victim = try folder.write("victim", "mine").path
        let planted = folder.url.appending(path: "s.json.\(getpid()).new").path
        if isLink {
            try FileManager.default.createSymbolicLink(atPath: planted, withDestinationPath: victim)
        } else {
            // Who holds a second name of the file would read the secrets.
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

    @Test func readsWithoutWriting() async throws {
        let base = ":\(server.port)"
        #expect(try await run("--session-read-only=me", base + "/get", "X-A:1").status == 0)
        #expect(folder.read(path) == nil)
        let file = try folder.write("s.json", "{}").path
        #expect(try await run("--session", file, base + "/get", "X-A:1").status == 0)
        #expect(String(decoding: folder.read("s.json") ?? Data(), as: UTF8.self).contains("\"X-A\""))
        _ = try folder.write("broken.json", "[")
        #expect(try await run("--session", folder.url.path + "/broken.json", base + "/get").status == 1)
    }
}
