import Foundation
import Testing

@testable import CurlewTool

@Suite("Request plans")
struct PlanTests {
    static let files = ["/text": "hello\n", "/json": "{\"a\": 1.50}"]

    static func builder(input: String? = nil) -> PlanBuilder {
        PlanBuilder(
            read: { (path) throws(UsageError) in
                guard let text = files[path] else { throw UsageError("no such file: \(path)") }
                return Array(text.utf8)
            },
            standardInput: input.map { Array($0.utf8) },
            userAgent: "curlew/test",
            makeBoundary: { "BOUNDARY" }
        )
    }

    static func plan(_ words: String..., input: String? = nil) throws -> RequestPlan {
        try plan(words, input: input)
    }

    static func plan(_ words: [String], input: String? = nil) throws -> RequestPlan {
        try builder(input: input).plan(invocation(words))
    }

    struct Row: Sendable {
        let words: [String]
        var input: String?
        let method: String
        let body: String?
        let type: String?
    }

    static let rows: [Row] = [
        Row(words: ["x.y"], method: "GET", body: nil, type: nil),
        Row(words: ["x.y", "a=1"], method: "POST", body: #"{"a": "1"}"#, type: "application/json"),
        Row(words: ["GET", "x.y", "a=1"], method: "GET", body: #"{"a": "1"}"#, type: "application/json"),
        Row(
            words: ["x.y", "a:=[1,2.50]", "b[c]=d"], method: "POST", body: #"{"a": [1, 2.50], "b": {"c": "d"}}"#,
            type: "application/json"),
        Row(
            words: ["x.y", "a=@/text", "b:=@/json"], method: "POST", body: #"{"a": "hello\n", "b": {"a": 1.50}}"#,
            type: "application/json"),
        Row(
            words: ["-f", "x.y", "a=1 2", "b=é&", "a=3"], method: "POST", body: "a=1+2&b=%C3%A9%26&a=3",
            type: "application/x-www-form-urlencoded; charset=utf-8"),
        Row(
            words: ["-f", "x.y", "a[b]:=\"t\"", "c:=[1]"], method: "POST", body: "a%5Bb%5D=t&c=%5B1%5D",
            type: "application/x-www-form-urlencoded; charset=utf-8"),
        Row(words: ["--raw", "abc", "x.y"], method: "POST", body: "abc", type: "application/json"),
        Row(words: ["x.y"], input: "piped", method: "POST", body: "piped", type: "application/json"),
        Row(
            words: ["PUT", "x.y", "Content-Type:text/plain"], input: "piped", method: "PUT", body: "piped",
            type: "text/plain"),
        Row(words: ["x.y", "q==1", "H:2"], method: "GET", body: nil, type: nil),
    ]

    @Test(arguments: rows.indices)
    func argumentsDecideMethodAndBody(_ index: Int) throws {
        let row = Self.rows[index]
        let plan = try Self.plan(row.words, input: row.input)
        #expect(plan.method == row.method)
        #expect(plan.body == row.body.map { .data(Array($0.utf8)) } ?? .none)
        #expect(plan.header("Content-Type") == row.type)
    }

    @Test func asksForJSONOnlyWhenItSendsJSON() throws {
        #expect(try Self.plan("x.y").header("Accept") == "*/*")
        #expect(try Self.plan("x.y", "a=1").header("Accept") == "application/json, */*;q=0.5")
        #expect(try Self.plan("-j", "x.y").header("Accept") == "application/json, */*;q=0.5")
        #expect(try Self.plan("-f", "x.y", "a=1").header("Accept") == "*/*")
    }

    @Test func setsAndUnsetsHeaders() throws {
        let plan = try Self.plan(
            "x.y", "User-Agent:", "X;", "Accept:a/b", "C:1", "c:2", "T:@/text", "Cookie:a=1", "Cookie:b=2")
        #expect(plan.header("User-Agent") == nil)
        #expect(plan.suppressedHeaders == ["user-agent"])
        #expect(plan.header("X") == "")
        #expect(plan.header("Accept") == "a/b")
        #expect(plan.header("C") == "1, 2")
        #expect(plan.header("T") == "hello")
        #expect(plan.header("Cookie") == "a=1; b=2")
    }

    @Test("the file of a header is read once, because a pipe cannot be read again")
    func readsHeaderFilesOnce() throws {
        let reads = Counter()
        var builder = Self.builder()
        builder.read = { _ in
            reads.count += 1
            return reads.count == 1 ? Array("secret\n".utf8) : []
        }
        #expect(try builder.plan(invocation("x.y", "T:@/dev/fd/63")).header("T") == "secret")
        #expect(reads.count == 1)
    }

    @Test("a pipe that is the body or a file of a form is read once") func readsPipesForTheBody() throws {
        let reads = Counter()
        func body(_ words: String...) throws -> PlannedBody {
            let invocation = try invocation(words)
            var builder = Self.builder()
            builder.isStream = { $0.hasPrefix("/dev/fd/") }
            builder.read = { _ in
                reads.count += 1
                return Array("piped".utf8)
            }
            return try builder.plan(invocation).body
        }
        #expect(try body("x.y", "@/dev/fd/63") == .data(Array("piped".utf8)))
        #expect(reads.count == 1)
        let parts = [
            MultipartPart(
                name: "f", content: .bytes(Array("piped".utf8), path: "/dev/fd/63", mediaType: "text/x")),
            MultipartPart(name: "g", content: .file(path: "/text", mediaType: nil)),
        ]
        #expect(
            try body("-f", "x.y", "f@/dev/fd/63;type=text/x", "g@/text") == .multipart(parts, boundary: "BOUNDARY"))
        #expect(reads.count == 2)
    }

    private final class Counter {
        var count = 0
    }

    @Test func plansForms() throws {
        let plan = try Self.plan("-f", "x.y", "a=1", "f@/text;type=text/x")
        #expect(
            plan.body
                == .multipart(
                    [
                        MultipartPart(name: "a", content: .text("1")),
                        MultipartPart(name: "f", content: .file(path: "/text", mediaType: "text/x")),
                    ], boundary: "BOUNDARY"))
        #expect(plan.header("Content-Type") == "multipart/form-data; boundary=BOUNDARY")
        #expect(try Self.plan("x.y", "@/tmp/a.csv").body == .file(path: "/tmp/a.csv"))
        #expect(try Self.plan("x.y", "@/tmp/a.csv").header("Content-Type") == "text/csv")
        #expect(try Self.plan("x.y", "@/tmp/a;type=x/y").header("Content-Type") == "x/y")
    }

    @Test(arguments: [
        ["x.y", "f@/text"], ["x.y", "@/text", "a=1"], ["x.y", "a:=nope"], ["x.y", "a=@/none"], ["x.y", "a:=@/text"],
        ["x.y", "a b:1"], ["x.y", "é:1"], ["x.y", ":1"], ["x.y", "a[=1"], ["--multipart", "x.y"], ["ftp://x.y"],
        ["x.y", "A:1\nB: 2"],
    ])
    func invalidArgumentsAreRefused(_ words: [String]) {
        #expect(throws: UsageError.self) { try Self.plan(words) }
    }

    @Test func showsTheHead() throws {
        let head = try Self.plan("u:p@x.y:81/p?q", "a=1", "Host:other").head(bodyLength: 10, acceptEncoding: "gzip")
        #expect(head.method == "POST")
        #expect(head.target == "/p?q")
        #expect(
            head.headers == [
                HeaderField("User-Agent", "curlew/test"), HeaderField("Accept", "application/json, */*;q=0.5"),
                HeaderField("Content-Type", "application/json"), HeaderField("Host", "other"),
                HeaderField("Accept-Encoding", "gzip"), HeaderField("Content-Length", "10"),
            ])
        let bare = try Self.plan("x.y", "Accept-Encoding:").head(bodyLength: nil, acceptEncoding: "gzip")
        #expect(bare.headers.map(\.name) == ["Host", "User-Agent", "Accept"])
    }
}

@Suite("The curl command")
struct CurlCommandTests {
    private func curl(_ words: String...) throws -> String {
        let invocation = try invocation(words)
        let plan = try PlanTests.builder().plan(invocation)
        return CurlCommand(plan: plan, invocation: invocation, auth: invocation.auth).text()
    }

    @Test func curlCommandIsEquivalent() throws {
        let common = "-H 'User-Agent: curlew/test' -H 'Accept: */*'"
        #expect(try curl("x.y") == "curl \(common) --compressed http://x.y/")
        #expect(try curl("HEAD", "x.y") == "curl --head \(common) --compressed http://x.y/")
        #expect(try curl("DELETE", "x.y") == "curl -X DELETE \(common) --compressed http://x.y/")
        #expect(
            try curl("--raw", "it's", "x.y", "Content-Type:t/p")
                == "curl -H 'User-Agent: curlew/test' -H 'Accept: application/json, */*;q=0.5' -H 'Content-Type: t/p' "
                + "--compressed --data-raw 'it'\\''s' http://x.y/")
        #expect(
            try curl("--multipart", "x.y", "a=1", "f@/text;type=a/b")
                == "curl \(common) --compressed --form-string a=1 -F 'f=@/text;type=a/b' http://x.y/")
        #expect(
            try curl("-F", "-a", "u:p w", "--verify=no", "--proxy=p:1", "x.y", "Accept-Encoding:")
                == "curl \(common) -H accept-encoding: -L --max-redirs 30 -u 'u:p w' -x http://p:1 -k http://x.y/")
    }

    @Test func uploadsInputWithTheMethod() throws {
        func methods(_ words: String...) throws -> String {
            let invocation = try invocation(words)
            var builder = PlanTests.builder()
            builder.streamsStandardInput = true
            return CurlCommand(plan: try builder.plan(invocation), invocation: invocation).text()
        }
        // curl sends PUT for `-T` unless `-X` names another method.
        #expect(try methods("--chunked", "x.y").hasPrefix("curl -X POST "))
        #expect(try !methods("--chunked", "PUT", "x.y").contains("-X"))
    }

    @Test func curlCommandIsUnambiguousForCurlAndShell() throws {
        #expect(try curl("x.y/?a[0]=1").contains("--globoff"))
        #expect(try !curl("[::1]:81/").contains("--globoff"))
        let home = try #require(ProcessInfo.processInfo.environment["HOME"])
        #expect(try curl("x.y", "@~/f").contains("--data-binary \(ShellQuote.quoted("@\(home)/f"))"))
        #expect(try curl("-f", "x.y", "p@/a;b,c.txt").contains(#"-F 'p=@"/a;b,c.txt"'"#))
        #expect(try curl("-f", "x.y", "p@/a ").contains(#"-F 'p=@"/a "'"#))
        #expect(try curl("-f", "x.y", "p@ a\\").contains(#"-F 'p=@" a\\"'"#))
        #expect(try curl("-f", "x.y", "p@/a;\u{301}b").contains("-F 'p=@\"/a;\u{301}b\"'"))
        #expect(try curl("-f", "x.y", #"p@/a"b.txt;type=x/y"#).contains(#"-F 'p=@"/a\"b.txt";type=x/y'"#))
        #expect(try curl("-f", "x.y", "p@~/f").contains(ShellQuote.quoted("p=@\(home)/f")))
    }

    @Test(arguments: [
        ("", "''"), ("a", "a"), ("a b", "'a b'"), ("a'b", "'a'\\''b'"), ("$(x)", "'$(x)'"), ("!", "'!'"),
        ("a\nb", "'a\nb'"), ("a'\u{301}; b", "'a'\\''\u{301}; b'"),
        ("é", "'é'"), ("~", "'~'"), ("#a", "'#a'"), ("http://x/?a&b", "'http://x/?a&b'"),
    ])
    func shellWordsAreQuoted(_ word: String, _ expected: String) { #expect(ShellQuote.quoted(word) == expected) }
}
