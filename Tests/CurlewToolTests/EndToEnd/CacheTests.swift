import CurlewCore
import CurlewDiskCache
import CurlewTesting
import Foundation
import Glibc
import Testing

@testable import CurlewTool

@Suite("curlew --cache", .timeLimit(.minutes(4)))
struct CacheTests: ToolSuite {
    let place: ToolPlace

    init() throws { place = try ToolPlace() }

    @discardableResult
    private func run(_ arguments: String...) async throws -> ToolProcess.Outcome {
        try await tool(arguments).run()
    }

    // MARK: Requests

    @Test func secondRequestIsAnsweredFromCache() async throws {
        let first = try await run("--cache", "c", "-v", base + "/cache/60")
        #expect(first.errors == "curlew: Cache-Status: Curlew; fwd=miss\n")
        let second = try await run("--cache=c", "-v", base + "/cache/60")
        #expect(second.errors == "curlew: Cache-Status: Curlew; hit\n")
        #expect(second.lines.last == first.lines.last && second.status == 0)
        #expect(server.requests.count == 1)
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.path + "/c/index.sqlite")
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    @Test func storedResponseIsRevalidated() async throws {
        for _ in 1...2 { try await run("--cache", "c", base + "/etag/a") }
        let outcome = try await run("--cache", "c", "-m", base + "/etag/a")
        #expect(outcome.lines.contains { $0.hasPrefix("Cache") && $0.hasSuffix("Curlew; fwd=stale; fwd-status=304") })
        #expect(server.requests.map { $0.headers["If-None-Match"] } == [nil, "\"a\"", "\"a\""])
    }

    @Test func timingShowsTheCacheHit() async throws {
        try await run("--cache", "c", base + "/cache/60")
        let outcome = try await run("--cache", "c", "--timing", base + "/cache/60")
        #expect(outcome.errors.contains("\n  Curlew; hit\n") && outcome.errors.contains("  cache "))
        #expect(!outcome.errors.contains("  connect ") && !outcome.errors.contains("  receive "))
    }

    @Test(arguments: [
        ("default", "Curlew; hit", 1), ("reload", "Curlew; fwd=request; detail=reload", 2),
        ("revalidate", "Curlew; fwd=miss", 2), ("prefer-cache", "Curlew; hit", 1), ("only-cache", "Curlew; hit", 1),
    ])
    func cachePolicyOptionIsObeyed(_ policy: String, _ status: String, _ requests: Int) async throws {
        try await run("--cache", "c", base + "/cache/60")
        let outcome = try await run("--cache", "c", "--cache-policy", policy, "-v", base + "/cache/60")
        #expect(outcome.errors == "curlew: Cache-Status: \(status)\n")
        #expect(server.requests.count == requests)
    }

    @Test func onlyCachePolicyFailsIfNothingIsStored() async throws {
        let outcome = try await run("--cache", "c", "--cache-policy", "only-cache", base + "/cache/60")
        #expect(outcome.status == 1 && server.requests.isEmpty)
        let error = "curlew: error: there is no stored response for this request\n"
        #expect(outcome.errors.hasPrefix(error), "\(outcome.errors)")
        #expect(outcome.errors.contains("try: another --cache-policy"))
    }

    @Test func downloadsAreCached() async throws {
        try await run("--cache", "c", "-d", "-o", "one", base + "/cache/60")
        let second = try await run("--cache", "c", "-d", "-v", "-o", "two", base + "/cache/60")
        #expect(second.errors.contains("curlew: Cache-Status: Curlew; hit\n"), "\(second.errors)")
        #expect(folder.read("one") == folder.read("two") && folder.read("two")?.isEmpty == false)
        #expect(server.requests.count == 1)
    }

    @Test func cachedRedirectsAreShown() async throws {
        server.route("/from") { _ in
            .redirect(to: "/to", status: 301).header("Cache-Control", "max-age=60").header("X-A", "b")
        }
        server.route("/to") { _ in .text("there").header("Cache-Control", "max-age=60") }
        for count in 1...2 {
            let outcome = try await run("--cache", "c", "-F", "--all", "-h", base + "/from")
            let heads = outcome.lines.filter { $0.hasPrefix("HTTP/1.1 ") }.map { $0.prefix(12) }
            #expect(heads == ["HTTP/1.1 301", "HTTP/1.1 200"], "\(count) \(outcome.text)")
            #expect(outcome.lines.contains("X-A: b"))
        }
    }

    @Test("a response that is served stale is validated before the command ends")
    func staleWhileRevalidate() async throws {
        server.route("/swr") { request in
            .text("a").header("Cache-Control", "max-age=0, stale-while-revalidate=600").header("ETag", "\"e\"")
        }
        try await run("--cache", "c", base + "/swr")
        let outcome = try await run("--cache", "c", "-v", base + "/swr")
        #expect(outcome.errors == "curlew: Cache-Status: Curlew; hit; detail=stale-while-revalidate\n")
        #expect(server.requests.map { $0.headers["If-None-Match"] } == [nil, "\"e\""])
    }

    @Test func concurrentCommandsMayShareACache() async throws {
        let statuses = try await withThrowingTaskGroup(of: Int32.self) { group in
            for number in 0..<6 {
                group.addTask { try await run("--cache", "c", base + "/cache/60?\(number % 2)").status }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses == [0, 0, 0, 0, 0, 0])
        let listed = try await run("cache", "list", "c")
        #expect(listed.lines.count == 4, "\(listed.text)")
    }

    // MARK: Directories

    @Test("a cache that cannot be written causes a warning, and the request is sent without it")
    func unwritable() async throws {
        try folder.write("file", "mine")
        let outcome = try await run("--cache", "file/c", base + "/cache/60")
        #expect(outcome.status == 0 && !outcome.output.isEmpty)
        #expect(outcome.errors.hasPrefix("curlew: warning: --cache: The cache in "), "\(outcome.errors)")
        #expect(outcome.errors.hasSuffix("Not a directory. Continuing without it\n"), "\(outcome.errors)")
        let quiet = try await run("-qq", "--cache", "file/c", base + "/cache/60")
        #expect(quiet.status == 0 && quiet.errors == "")
    }

    @Test func unusableCacheDoesNotFailRequest() async throws {
        let outcome = try await run("--cache", "/proc/curlew-cache", base + "/cache/60")
        #expect(outcome.status == 0 && !outcome.output.isEmpty)
        #expect(outcome.errors.contains("curlew-cache cannot be opened for writing: "), "\(outcome.errors)")
        let alone = try await run("--cache", "/proc/curlew-cache", "--cache-policy", "only-cache", base + "/cache/60")
        #expect(alone.status == 1 && alone.errors.contains("there is no stored response for this request"))
    }

    @Test(.enabled(if: getuid() != 0, "root may write anywhere")) func readOnlyCacheDoesNotFailRequest() async throws {
        try await run("--cache", "c", base + "/cache/60")
        chmod(folder.path + "/c", 0o500)
        let outcome = try await run("--cache", "c", base + "/cache/60")
        chmod(folder.path + "/c", 0o700)
        #expect(outcome.status == 0 && !outcome.output.isEmpty)
    }

    @Test("a damaged index is replaced, and a message says so", arguments: [true, false])
    func damaged(isListed: Bool) async throws {
        try await run("--cache", "c", base + "/cache/60")
        try folder.write("c/index.sqlite", String(repeating: "no index ", count: 900))
        let words = isListed ? ["cache", "list", "c"] : ["--cache", "c", base + "/cache/60"]
        let outcome = try await tool(words).run()
        #expect(outcome.status == 0)
        #expect(outcome.errors.contains("was damaged"), "\(outcome.errors)")
        #expect(server.requests.count == (isListed ? 1 : 2))
    }

    static let strangers = ["notes.txt", "index.sqlite"]

    @Test("a directory with other files is neither used nor cleared", arguments: strangers)
    func aDirectoryOfOthers(_ name: String) async throws {
        try FileManager.default.createDirectory(at: folder.file("c"), withIntermediateDirectories: true)
        try folder.write("c/" + name, "mine")
        for words in [["--cache", "c", base + "/get"], ["cache", "list", "c"], ["cache", "clear", "c"]] {
            let outcome = try await tool(words).run()
            #expect(outcome.status == 1)
            #expect(outcome.errors.hasPrefix("curlew: error: c is not a cache, and is left as it is\n"))
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "/c") == [name])
        #expect(folder.read("c/" + name) == Data("mine".utf8) && server.requests.isEmpty)
    }

    @Test func clearRefusesDirectoryWithoutCache() async throws {
        #expect(try await run("cache", "list", "none").errors == "curlew: error: there is no directory none\n")
        try FileManager.default.createDirectory(at: folder.file("c"), withIntermediateDirectories: true)
        let outcome = try await run("cache", "clear", "c")
        #expect(outcome.status == 1 && outcome.errors.hasPrefix("curlew: error: there is no cache in c\n"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "/c").isEmpty)
    }

    // MARK: The cache itself

    @Test func listShowsStoredResponses() async throws {
        server.route("/vary") { _ in
            .text("four", status: 203).header("Cache-Control", "max-age=60").header("Vary", "Accept, X-B")
        }
        try await run("--cache", "c", base + "/cache/60")
        try await run("--cache", "c", "-a", "u:p", base + "/vary")
        let lines = try await run("cache", "list", "c").lines
        #expect(
            lines.first
                == "METHOD  STATUS        SIZE  STORED                FRESH UNTIL           VARY              URL")
        let row = try #require(lines.dropFirst().first).split(separator: " ").map(String.init)
        #expect(row.prefix(4) == ["GET", "203", "4", "B"])
        #expect(row.suffix(2) == ["accept,x-b,(credentials)", "http://localhost:\(server.port)/vary"])
        let times = try row[4...5].map { try Date($0, strategy: .iso8601) }
        // `Date` has whole seconds, so a response that arrives in the next second already has an age.
        #expect((50...60).contains(times[1].timeIntervalSince(times[0])))
        #expect(lines.count == 4 && lines[2].hasSuffix("/cache/60") && lines[3].isEmpty)

        let text = try await run("cache", "list", "c", "--json").text
        let items = try #require(try JSONParser.parse(text).elements)
        #expect(items.count == 2 && items[0]["credentials"] == .bool(true) && items[1]["credentials"] == .bool(false))
        #expect(items[0]["vary"]?.elements == [.string("accept"), .string("x-b")])
        #expect(items[0]["status"] == .number("203") && items[0]["size"] == .number("4"))
    }

    @Test func longListIsReadInParts() async throws {
        for number in 0..<3 { try await run("--cache", "c", base + "/cache/60?\(number)") }
        let store = try #require(try? ToolCache(path: folder.path + "/c").existing())
        let first = try await store.contents(limit: 2)
        let rest = try await store.contents(after: first.last, limit: 2)
        #expect(first.count == 2 && rest.count == 1)
        #expect((first + rest).map { $0.entry.key.url.last } == ["2", "1", "0"])
        #expect(try await store.contents(after: rest.last, limit: 2).isEmpty)
    }

    @Test func clearRemovesOneResponseOrAll() async throws {
        for path in ["/cache/60", "/cache/61"] { try await run("--cache", "c", base + path) }
        let one = try await run("cache", "clear", "c", base + "/cache/60")
        #expect(one.status == 0 && one.errors.hasPrefix("curlew: removed ") && one.text == "")
        #expect(
            try await run("cache", "clear", "c", base + "/cache/60").errors == "curlew: there was nothing to remove\n")
        #expect(try await run("cache", "list", "c").lines.count == 3)
        #expect(try await run("-q", "cache", "clear", "c").errors == "")
        #expect(try await run("cache", "list", "c").lines.count == 2)
        #expect(try await run("cache", "list", "c", "--json").text == "[]\n")
        #expect(try await run("--cache", "c", "-v", base + "/cache/61").errors.hasSuffix("fwd=miss\n"))
    }

    @Test(
        "the error about a wrong cache command or option says what is wrong",
        arguments: [
            (["cache"], "say what to do"), (["cache", "lst", "d"], "'lst' is neither list nor clear"),
            (["cache", "list"], "name the directory"), (["cache", "list", "a", "b"], "'b' is one word too many"),
            (["cache", "clear", "a", "b", "c"], "'c' is one word too many"),
            (["cache", "clear", "a", "--offline"], "--offline has no meaning here"),
            (["cache", "clear", "a", "--json"], "--json has no meaning here"),
            (["--cache", "", "x"], "needs the name of a directory"),
            (["--cache-policy", "reload", "x"], "--cache-policy needs --cache"),
            (["--cache-policy", "relaod", "x"], "is not one of default, reload"),
        ])
    func refuses(_ words: [String], _ message: String) throws {
        let error = try #require(throws: UsageError.self) { try CommandBuilder.command(for: words) }
        #expect(error.message.contains(message), "\(error)")
    }

    @Test func cacheMayBeTheNameOfAServer() throws {
        for words in [["cache", "a=1"], ["cache", "X-A:1"], ["http://cache"], ["GET", "cache"]] {
            #expect(try invocation(words).urls.count == 1, "\(words)")
        }
    }
}
