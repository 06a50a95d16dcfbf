import CurlewCore
import Foundation
import Glibc
import Testing

@testable import CurlewTesting
@testable import CurlewTool

@Suite("curlew --repeat", .timeLimit(.minutes(4)))
struct RepeatTests: ToolSuite {
    let place: ToolPlace

    init() throws { place = try ToolPlace() }

    @Test func printsASummaryInsteadOfTheResponses() async throws {
        let outcome = try await tool("--repeat", "20", "--concurrency", "4", base + "/anything/x", "a=b").run()
        #expect(outcome.status == 0)
        #expect(outcome.errors == "")
        #expect(outcome.lines.prefix(1) == ["Requests: 20"])
        #expect(outcome.lines.contains("Status 2xx: 20 (200: 20)"))
        for name in ["min", "mean", "p50", "p90", "p99", "max"] {
            #expect(outcome.lines.contains { $0.hasPrefix("Latency \(name): ") })
        }
        #expect(!outcome.text.contains("Failed") && !outcome.text.contains("/anything"))
        #expect(server.requests.map(\.bodyText) == Array(repeating: #"{"a": "b"}"#, count: 20))
    }

    @Test func concurrencyOptionLimitsRequestsAtOnce() async throws {
        let load = Load(server, "/held", holding: 3)
        let outcome = try await tool("--repeat", "12", "--concurrency", "3", base + "/held").run()
        #expect(outcome.status == 0)
        #expect(outcome.lines.contains("Status 2xx: 12 (200: 12)"))
        #expect(load.most == 3)
    }

    @Test("more requests can run at the same time than the connections of a usual session")
    func sendsVeryManyAtOnce() async throws {
        let gate = Gate()
        server.route("/held") { _ in .text("late").stalling(until: gate, at: .beforeHead) }
        let outcome = try await tool("--repeat", "260", "--concurrency", "260", base + "/held").run { _ in
            _ = try await server.waitForRequests(count: 260)
            gate.open()
        }
        #expect(outcome.status == 0)
        #expect(outcome.lines.contains("Status 2xx: 260 (200: 260)"))
    }

    @Test func sendsToEachURL() async throws {
        let outcome = try await tool("--repeat", "2", base + "/bytes/1", base + "/bytes/2").run()
        #expect(outcome.status == 0)
        #expect(outcome.lines.contains("Requests: 4"))
        #expect(server.requests.map(\.path) == ["/bytes/1", "/bytes/2", "/bytes/1", "/bytes/2"])
    }

    @Test("a URL without credentials has those of the netrc file, whatever its position", arguments: [false, true])
    func readsNetrc(_ isReversed: Bool) async throws {
        _ = try folder.write(".netrc", "machine localhost login n password p\n")
        let urls = ["http://u:q@localhost:\(server.port)/bytes/1", "http://localhost:\(server.port)/bytes/2"]
        var tool = tool("--repeat", "1")
        tool.arguments += isReversed ? urls.reversed() : urls
        #expect(try await tool.run().status == 0)
        let sent = server.requests.map { [$0.path, $0.headers["Authorization"] ?? ""] }.sorted { $0[0] < $1[0] }
        #expect(sent == [["/bytes/1", "Basic dTpx"], ["/bytes/2", "Basic bjpw"]])
    }

    @Test("standard input is the body of each request to each URL")
    func sendsStandardInput() async throws {
        var tool = tool("--repeat", "2", base + "/anything/a", base + "/anything/b")
        tool.input = Data(#"{"a":1}"#.utf8)
        let outcome = try await tool.run()
        #expect(outcome.status == 0)
        #expect(outcome.lines.contains("Status 2xx: 4 (200: 4)"))
        #expect(server.requests.map(\.method) == Array(repeating: "POST", count: 4))
        #expect(server.requests.map(\.bodyText) == Array(repeating: #"{"a":1}"#, count: 4))
    }

    @Test("--rate limits the requests to all servers together, and the wait for it is no part of the latency")
    func obeysTheRate() async throws {
        let other = try TestServer()
        let last = Watched(ContinuousClock.now)
        for server in [server, other] {
            server.route("/timed") { _ in
                last.change { $0 = ContinuousClock.now }
                return .text("hello")
            }
        }
        let began = ContinuousClock.now
        let outcome = try await tool(
            "--rate", "2/s", "--repeat", "2", "--concurrency", "4", base + "/timed", ":\(other.port)/timed"
        ).run()
        #expect(outcome.status == 0)
        #expect(server.requestCount == 2 && other.requestCount == 2)
        // The last of the four requests is sent one and a half seconds after the first.
        #expect(began.duration(to: last.value) >= .milliseconds(1500))
        let slowest = try #require(outcome.lines.first { $0.hasPrefix("Latency max: ") })
        #expect(!slowest.hasSuffix(" s"), "\(slowest)")
    }

    @Test(
        "a run whose responses are 404 fails only with --check-status",
        arguments: [([], 0), (["--check-status"], 4)] as [([String], Int32)])
    func checksStatus(_ words: [String], _ status: Int32) async throws {
        var tool = tool("--repeat", "3", base + "/status/404")
        tool.arguments += words
        let outcome = try await tool.run()
        #expect(outcome.status == status)
        #expect(outcome.lines.contains("Status 4xx: 3 (404: 3)"))
    }

    @Test func countsFailuresByCode() async throws {
        let deadEnd = try DeadEnd(.refusing)
        let outcome = try await tool("--repeat", "3", ":\(deadEnd.port)/").run()
        #expect(outcome.status == 1)
        #expect(outcome.lines.contains("Requests: 3"))
        #expect(outcome.lines.contains("Failed: 3 (connectFailed: 3)"))
        #expect(!outcome.text.contains("Latency"))
        #expect(outcome.errors.components(separatedBy: "no connection to localhost:\(deadEnd.port)").count == 2)
    }

    @Test("Ctrl-C prints the summary so far")
    func isInterrupted() async throws {
        server.script(
            "/x", .text("hello"), TestServer.Response.text("never").faulting(.stall(), at: .inBody(after: 2)))
        let outcome = try await tool("--repeat", "1000", base + "/x").run { pid in
            _ = try await server.waitForRequests(count: 2)
            kill(pid, SIGINT)
        }
        #expect(outcome.status == 130)
        #expect(outcome.lines.contains("Requests: 1 of 1000"))
        #expect(outcome.lines.contains("Status 2xx: 1 (200: 1)"))
        #expect(!outcome.text.contains("Failed"))
        #expect(outcome.errors == "curlew: interrupted\n")
    }

    @Test("--duration ends the run, also while requests wait for the rate")
    func endsInTime() async throws {
        let began = ContinuousClock.now
        let outcome = try await tool(
            "--duration", "3s", "--concurrency", "2", "--rate", "1/h", "--summary", "json", base + "/bytes/10"
        ).run()
        #expect(outcome.status == 0 && outcome.errors == "")
        #expect(began.duration(to: .now) >= .seconds(3))
        let json = try JSONSerialization.jsonObject(with: Data(outcome.text.utf8)) as? [String: Any]
        let summary = try #require(json)
        #expect(summary["requests"] as? Int == 1 && summary["planned"] == nil)
        #expect(summary["cutOff"] as? Int == 2)
        #expect(summary["statuses"] as? [String: Int] == ["200": 1])
        #expect((summary["histogram"] as? [[String: Any]])?.map { $0["count"] as? Int } == [1])
        #expect(outcome.lines.filter { !$0.isEmpty }.count == 1, "one line for programs")
        #expect(server.requestCount == 1)
    }

    @Test("with --repeat and --duration, the one that is reached first ends the run")
    func endsEarly() async throws {
        // The suite's time limit shows that the hour is not waited for.
        let outcome = try await tool("--duration", "1h", "--repeat", "3", base + "/bytes/1").run()
        #expect(outcome.status == 0)
        #expect(outcome.lines.contains("Requests: 3") && !outcome.text.contains("Cut off"))
    }

    @Test("if no request has ended when the time is over, that is a timeout")
    func endsTooEarly() async throws {
        server.script("/x", TestServer.Response.text("never").faulting(.stall(), at: .beforeHead))
        let outcome = try await tool("--duration", "500ms", "--repeat", "5", base + "/x").run()
        #expect(outcome.status == 2)
        #expect(outcome.lines.contains("Requests: 0 of 5"))
        #expect(!outcome.text.contains("Failed"))
    }

    @Test("a request that cannot be made ends the run, prints the summary so far and stores the session")
    func endsAtAnObstacle() async throws {
        let file = try folder.write("form.txt", "content")
        let gate = Gate()
        let held = TestServer.Response.text("late").header("Set-Cookie", "seen=yes")
            .stalling(until: gate, at: .beforeHead)
        // The second request gets no response. It must not delay the end.
        server.script("/x", held, TestServer.Response.text("never").faulting(.stall(), at: .beforeHead))
        let outcome = try await tool(
            "--form", "--repeat", "20", "--concurrency", "2", "--session", "./s.json", base + "/x", "x@form.txt"
        ).run { _ in
            _ = try await server.waitForRequests(count: 2)
            try FileManager.default.removeItem(at: file)
            gate.open()
        }
        #expect(outcome.status == 1)
        #expect(outcome.lines.contains("Requests: 1 of 20"))
        #expect(outcome.lines.contains("Status 2xx: 1 (200: 1)"))
        #expect(outcome.lines.contains("Cut off: 1"))
        #expect(!outcome.text.contains("Failed"))
        #expect(outcome.errors == "curlew: error: cannot read form.txt: no such file\n")
        #expect(String(decoding: folder.read("s.json") ?? Data(), as: UTF8.self).contains("seen"))
    }

    @Test("the session is stored even if the summary cannot be written")
    func storesTheSession() async throws {
        server.script("/x", TestServer.Response.text("hello").header("Set-Cookie", "seen=yes"))
        var tool = tool("-c", "exec \"$0\" --repeat 1 --session ./s.json \"$1\" >&-")
        tool.arguments += [ToolProcess.executable.path, base + "/x"]
        tool.program = URL(filePath: "/bin/sh")
        let outcome = try await tool.run()
        #expect(outcome.status == 1)
        #expect(outcome.errors == "curlew: error: cannot write the output: Bad file descriptor\n")
        #expect(String(decoding: folder.read("s.json") ?? Data(), as: UTF8.self).contains("seen"))
    }

    @Test(
        "a request that can never be made is one error instead of many failures",
        arguments: [
            (["@missing"], "a file cannot be read"),
            (["--http-version=3"], "the libcurl on this system cannot do that"),
            (["-f", "x@missing"], "cannot read missing: no such file"),
        ] as [([String], String)])
    func sendsNothingImpossible(_ words: [String], _ message: String) async throws {
        var tool = tool("--repeat", "20", "-o", "report.txt", base + "/post")
        tool.arguments += words
        let outcome = try await tool.run()
        #expect(outcome.status == 1)
        #expect(outcome.errors.hasPrefix("curlew: error: \(message)\n"))
        #expect(outcome.errors.components(separatedBy: "error:").count == 2)
        #expect(folder.read("report.txt") == nil)
        #expect(server.requestCount == 0)
    }

    @Test("a summary that cannot be written is an error before the first request")
    func refusesAMissingFolder() async throws {
        let outcome = try await tool("--repeat", "2", "-o", "missing/report.txt", base + "/bytes/1").run()
        #expect(outcome.status == 1)
        #expect(outcome.errors.hasPrefix("curlew: error: cannot write missing/report.txt: "))
        #expect(server.requestCount == 0)
    }

    @Test("a redirect to a host that is not on the command line is not followed")
    func sendsToNamedHostsOnly() async throws {
        let other = try TestServer()
        let away = TestServer.Response.status(302, headers: ["Location": other.url("/bytes/1").absoluteString])
        server.script("/away", away, away)
        let refused = try await tool("--follow", "--repeat", "2", base + "/away").run()
        #expect(refused.status == 0)
        #expect(refused.lines.contains("Status 3xx: 2 (302: 2)"))
        #expect(refused.lines.contains("Not followed: 2 to hosts that are not on the command line"))
        #expect(other.requestCount == 0)
        server.script("/away", away)
        let checked = try await tool("--follow", "--repeat", "1", "--check-status", base + "/away").run()
        #expect(checked.status == 3)
        #expect(checked.lines.contains("Not followed: 1 to hosts that are not on the command line"))
        server.script("/near", .status(302, headers: ["Location": "/bytes/1"]))
        let followed = try await tool("--follow", "--repeat", "1", base + "/near").run()
        #expect(followed.lines.contains("Status 2xx: 1 (200: 1)"))
        #expect(server.requests.last?.path == "/bytes/1")
        server.script("/near", .status(302, headers: ["Location": "/bytes/1"]))
        let plain = try await tool("--repeat", "1", "--check-status", base + "/near").run()
        #expect(plain.status == 3)
        #expect(plain.lines.contains("Status 3xx: 1 (302: 1)") && !plain.text.contains("Not followed"))
    }

    @Test(
        "a 3xx that leads nowhere is not counted as a redirect to another host",
        arguments: [(300, "/bytes/1"), (304, "/bytes/1"), (302, ""), (302, " ")])
    func countsOnlyRedirectsElsewhere(_ status: Int, _ location: String) async throws {
        server.script("/x", .status(status, headers: ["Location": location]))
        let outcome = try await tool("--follow", "--repeat", "1", "--check-status", base + "/x").run()
        #expect(outcome.status == 0)
        #expect(outcome.lines.contains("Status 3xx: 1 (\(status): 1)"))
        #expect(!outcome.text.contains("Not followed"))
    }

    @Test func writesTheSummaryToAFile() async throws {
        let outcome = try await tool("--repeat", "2", "-o", "report.txt", base + "/bytes/10").run()
        #expect(outcome.status == 0)
        #expect(outcome.text == "")
        let report = String(decoding: folder.read("report.txt") ?? Data(), as: UTF8.self)
        #expect(report.hasPrefix("Requests: 2\n"))
        let quiet = try await tool("-q", "--repeat", "2", base + "/bytes/10").run()
        #expect(quiet.status == 0)
        #expect(quiet.text == "" && quiet.errors == "")
    }

    @Test("--concurrency limits the downloads that run at the same time")
    func limitsDownloads() async throws {
        let load = Load(server, "/held/*", holding: 1)
        let urls = ["a", "b", "c"].map { base + "/held/" + $0 }
        let outcome = try await tool("-d", "--concurrency", "1", urls[0], urls[1], urls[2]).run()
        #expect(outcome.status == 0)
        #expect(load.most == 1)
        #expect(folder.names.sorted() == ["a", "b", "c"])
    }
}

/// Counts the requests of a route that are in flight: from the arrival of a request until its body is sent. A client
/// sends its next request only after that.
private final class Load: Sendable {
    private struct Counts: Sendable {
        var now = 0
        var most = 0
    }

    private let counts = Watched(Counts())

    /// The highest number of requests that were in flight at the same time.
    var most: Int { counts.value.most }

    /// Holds the responses until `held` requests are in flight. Each takes a while, in which a surplus request arrives.
    init(_ server: TestServer, _ pattern: String, holding held: Int) {
        let (counts, gate) = (counts, Gate())
        server.route(pattern) { _ in
            let most = counts.change { counts in
                counts.now += 1
                counts.most = max(counts.most, counts.now)
                return counts.most
            }
            if most >= held { gate.open() }
            let body = TestServer.Response.Body.generated(length: 1) { offset, _ in
                guard offset == 0 else { return Data() }
                counts.change { $0.now -= 1 }
                return Data("x".utf8)
            }
            return TestServer.Response(body: body).delayed(by: .milliseconds(50))
                .stalling(until: gate, at: .beforeHead)
        }
    }
}
