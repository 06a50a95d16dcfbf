import Curlew
import CurlewCore
import Testing

@testable import CurlewTool

@Suite("--rate, --repeat and --concurrency")
struct RepetitionTests {
    @Test(
        "rates have curl's grammar",
        arguments: [
            ("50/s", 50, Duration.seconds(1)), ("2/m", 2, .seconds(60)), ("100/h", 100, .seconds(3600)),
            ("1/d", 1, .seconds(86_400)), ("3/10s", 3, .seconds(10)), ("1/365d", 1, .seconds(31_536_000)),
            ("1000000000/s", 1_000_000_000, .seconds(1)),
        ] as [(String, Int, Duration)])
    func readsRates(_ text: String, _ count: Int, _ period: Duration) throws {
        let rate = try RequestRate(parsing: text, for: "--rate")
        #expect(rate.count == count && rate.period == period)
        #expect(try invocation(["--rate", text, "x"]).network.requestRate == rate)
    }

    @Test(
        "a text that is not a rate is refused",
        arguments: [
            "", "/", "/s", "0/s", "-1/s", "+1/s", "1.5/s", "1e3/s", "1000000001/s", "99999999999999999999/s", "5/",
            "5/x",
            "5/S", "5/ms", "5/0s", "5/-1s", "5/366d", "5/99999999999999999999s", "5/s/s", "5 /s", "5/ s", "fast", "٣/s",
        ])
    func refusesRates(_ text: String) {
        let error = #expect(throws: UsageError.self) { try RequestRate(parsing: text, for: "--rate") }
        #expect(error?.message == "--rate: '\(text)' is not a number of requests per time")
    }

    @Test("a rate without a unit is refused")
    func refusesBareNumbers() {
        let error = #expect(throws: UsageError.self) { try RequestRate(parsing: "50", for: "--rate") }
        #expect(error == UsageError("--rate: '50' has no unit", hint: "Write 50/s, or /m, /h, /d."))
    }

    @Test func readsRepetitions() throws {
        let once = try invocation(["x"])
        #expect(once.repetitions == nil && once.concurrency == nil)
        let many = try invocation([
            "--repeat", "100", "--concurrency=8", "--rate", "5/s", ":1/a", "X-A:1", ":2/b", "c=d",
        ])
        #expect(many.repetitions == 100 && many.concurrency == 8)
        #expect(many.urls == [":1/a", ":2/b"])
        #expect(many.items.map(\.key) == ["X-A", "c"])
        #expect(try invocation(["-d", "--concurrency", "2", ":1/a", ":2/b"]).concurrency == 2)
        #expect(try invocation(["--repeat", "3", "-o", "report.txt", ":1/a", ":2/b"]).output.file == "report.txt")
    }

    @Test func readsDuration() throws {
        let timed = try invocation(["--duration", "2m", "--concurrency", "3", "--summary", "json", ":1/a", ":2/b"])
        #expect(timed.duration == .seconds(120) && timed.repetitions == nil && timed.repeats)
        #expect(timed.summary == .json && timed.urls.count == 2)
        let both = try invocation(["--duration=500ms", "--repeat", "7", "x"])
        #expect(both.duration == .milliseconds(500) && both.repetitions == 7 && both.summary == nil)
        #expect(try !invocation(["x"]).repeats)
        let error = #expect(throws: UsageError.self) { try invocation(["--duration", "1", "--retry", "2", "x"]) }
        #expect(error?.message == "--duration and --retry cannot be combined")
    }

    @Test(
        "options that have no effect on a repeated run are refused",
        arguments: [
            ["-d"], ["--har", "f"], ["--timing"], ["--retry", "2"], ["--cache", "d"], ["-v"], ["-h"], ["--print=b"],
            ["--all"], ["--chunked"], ["--stream"],
        ])
    func refusesOptions(_ words: [String]) {
        let error = #expect(throws: UsageError.self) { try invocation(["--repeat", "2"] + words + ["x"]) }
        #expect(error?.message.contains("cannot be combined") == true)
    }

    @Test("an option of the configuration that --repeat refuses can be cancelled, and the error tells how")
    func cancelsDefaults() throws {
        let defaults = try OptionParser.parse(["--retry=3"])
        func command(_ words: [String]) throws(UsageError) -> Command {
            try CommandBuilder.command(for: words) { () throws(UsageError) in defaults }
        }
        let error = #expect(throws: UsageError.self) { try command(["--repeat", "2", "x"]) }
        #expect(error?.hint?.hasSuffix("--no-retry.") == true)
        #expect(throws: Never.self) { try command(["--repeat", "2", "--no-retry", "x"]) }
    }

    @Test(
        "invalid values and combinations of --repeat, --concurrency and --rate are refused",
        arguments: [
            ["--repeat", "0", "x"], ["--repeat", "-1", "x"], ["--repeat", "many", "x"],
            ["--repeat", "1000000001", "x"],
            ["--repeat", "1", "--concurrency", "0", "x"], ["--repeat", "1", "--concurrency", "1001", "x"],
            ["--concurrency", "2", "x"], ["--repeat", "2", "ws://x"], ["--repeat", "2", ":1/a", "ws://x"],
            ["--rate", "1/s", "ws://x"], ["--duration", "1", "ws://x"], ["--duration", "0", "x"],
            ["--duration", "long", "x"], ["--duration", "-1", "x"], ["--summary", "json", "x"],
            ["--repeat", "2", "--summary", "xml", "x"], ["--duration", "1", "--session", "s", ":1/a", ":2/b"],
            ["--repeat", "2", "--offline", ":1/a", ":2/b"], ["--repeat", "2", "--session", "s", ":1/a", ":2/b"],
            ["-d", "--rate", "1/s", "--session", "s", ":1/a", ":2/b"],
        ])
    func refusesNonsense(_ words: [String]) {
        #expect(throws: UsageError.self) { try invocation(words) }
    }

    @Test("--repeat may be combined with -v if --offline is given")
    func allowsShowing() throws {
        #expect(try invocation(["--repeat", "2", "--offline", "-v", "x"]).output.mode == .offline)
    }
}

@Suite("The session of a repeated run")
struct RepetitionSessionTests {
    private func configuration(_ words: String...) throws -> SessionConfiguration {
        // `-I`, so that the input of the tests is not read.
        let invocation = try invocation(["-I"] + words)
        let terminal = Terminal(isInput: false, isOutput: false, isError: false, hasUnicode: false, noColor: true)
        let context = ToolContext(
            environment: [:], terminal: terminal, output: .standardOutput, errors: .standardError)
        return try SessionConfiguration(Preparation(invocation, context: context))
    }

    @Test("--concurrency permits as many connections to each host, and to all hosts together")
    func permitsConnections() throws {
        let two = try configuration("--repeat", "1", "--concurrency", "300", "a.test/1", "b.test/2", "a.test/3")
        #expect(two.maximumConnectionsPerHost == 300 && two.maximumConnections == 600)
        let few = try configuration("--repeat", "1", "--concurrency", "2", "a.test")
        #expect(few.maximumConnectionsPerHost == 6 && few.maximumConnections == 256)
    }

    @Test(
        "the requests of 10 ms may be sent together, so that late timers do not lower the rate",
        arguments: [
            ("4/s", 1), ("199/s", 1), ("200/s", 2), ("500/s", 5), ("60000/m", 10), ("1/365d", 1),
            ("1000000000/s", 10_000_000),
        ])
    func permitsBursts(_ text: String, _ burst: Int) throws {
        let rate = try RequestRate(parsing: text, for: "--rate")
        let limit = try #require(try configuration("--rate", text, "a.test").resilience.rateLimit)
        #expect(limit.parts.map(\.rate) == [CellRate(rate.count, per: rate.period, burst: burst)])
    }

    @Test("responses of a repeated run do not change the scheme or the server of later requests")
    func learnsNothing() throws {
        let repeated = try configuration("--repeat", "2", "a.test")
        #expect(repeated.hsts == nil && repeated.alternativeServices == nil)
        let once = try configuration("a.test")
        #expect(once.hsts != nil && once.alternativeServices != nil)
    }
}
