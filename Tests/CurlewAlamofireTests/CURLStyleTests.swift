import CurlewAlamofire
import CurlewLocks
import CurlewTesting
import Foundation
import Testing

/// Command lines in Alamofire's format.
@Suite(.timeLimit(.minutes(4)))
struct CURLStyleTests {
    private func session(_ change: (inout SessionConfiguration) -> Void = { _ in }) -> Session {
        var configuration = SessionConfiguration { $0.headers = [.accept("*/*")] }
        change(&configuration)
        return Session(configuration: configuration, transport: MockTransport { _ in .text("x") })
    }

    @Test func alamofireStyleShowsCookiesHeadersAndBody() async {
        let jar = CookieJar()
        jar.set(Cookie(name: "foo", value: "bar", domain: "example.org", path: "/", isHostOnly: true, created: Date()))
        let request = session { $0.cookies = jar }
            .request(
                "https://example.org/path?token=abc", method: .post, parameters: ["say": "\"hi\""], encoder: .json,
                headers: [HTTPHeader(name: "X-Mark", value: "a\"b"), .authorization(bearerToken: "secret")]
            )
            .authenticate(username: "ada", password: "pass")
        _ = await request.response()
        #expect(
            request.cURLDescription(style: .alamofire)
                == [
                    "$ curl -v", "-X POST", "-u ada:pass", "-b \"foo=bar\"", "-H \"Accept: */*\"",
                    "-H \"Authorization: Bearer secret\"", "-H \"Content-Type: application/json\"",
                    "-H \"X-Mark: a\\\"b\"", #"-d "{\"say\":\"\\\"hi\\\"\"}""#,
                    "\"https://example.org/path?token=abc\"",
                ].joined(separator: " \\\n\t"))
    }

    @Test func invalidRequestHasNoCURLCommand() async {
        let request = session().request("")
        #expect(request.cURLDescription(style: .alamofire) == "$ curl command could not be created")
    }

    @Test(arguments: [false, true]) func alamofireStyleHandlerIsCalledOnce(late: Bool) async throws {
        let seen = Lock<[String]>([])
        let queue = DispatchQueue(label: "curl")
        let request = session().request("https://example.org/")
        if late { _ = await request.response() }
        request.cURLDescription(style: .alamofire, on: queue) { text in seen.withLock { $0.append(text) } }
        if !late { _ = await request.response() }
        try await eventually { queue.sync { !seen.withLock { $0 }.isEmpty } }
        #expect(seen.withLock { $0 }.map { $0.hasPrefix("$ curl -v \\\n\t-X GET") } == [true])
    }

    @Test func plainDescriptionsQuoteLikeAlamofireAndShowNoSecrets() async throws {
        let jar = CookieJar()
        jar.set(Cookie(name: "foo", value: "bar", domain: "example.org", path: "/", isHostOnly: true, created: Date()))
        let request = session { $0.cookies = jar }
            .request(
                "https://example.org/path?token=abc", method: .post,
                parameters: ["say": "\"hi\"", "password": "hunter2"],
                encoder: .json(encoder: sorted),
                headers: [HTTPHeader(name: "X-Mark", value: "a\"b"), .authorization(bearerToken: "secret")]
            )
            .authenticate(username: "ada", password: "pass")
        _ = await request.response()
        let text = request.cURLDescription()
        #expect(
            text.split(separator: " \\\n\t").filter { !$0.hasPrefix("-d") && !$0.hasPrefix("\"http") }
                == [
                    "$ curl -v", "-X POST", "-u \"<redacted>\"", "-b \"foo=<redacted>\"", "-H \"Accept: */*\"",
                    "-H \"Authorization: <redacted>\"", "-H \"Content-Type: application/json\"",
                    "-H \"X-Mark: a\\\"b\"",
                ])
        #expect(text.contains(#"\"say\":\"\\\"hi\\\"\""#) && text.contains("\"https://example.org/path?"))
        for secret in ["ada", "pass\"", "bar", "secret", "hunter2", "abc"] { #expect(!text.contains(secret)) }
        // With `includingCredentials`, the command shows the secrets, in Curlew's quoting.
        #expect(request.cURLDescription(includingCredentials: true).contains("-u 'ada:pass'"))
    }

    private var sorted: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return encoder
    }

    /// A shell passes on every argument unchanged, whatever it contains.
    @Test func shellPassesEveryArgumentUnchanged() async throws {
        let mark = #"$HOME `id` $(id) \ \n ! !! "quoted" 'single' #x *"#
        let request = session().request(
            "https://example.org/a$b", method: HTTPMethod(rawValue: "A`ID`"),
            headers: [HTTPHeader(name: "X-Mark", value: mark)])
        _ = await request.response()
        let command = request.cURLDescription().dropFirst(2)
        let output = try shell("curl() { printf '%s\\n' \"$@\"; }\n\(command)\n")
        #expect(
            output.split(separator: "\n").map(String.init)
                == ["-v", "-X", "A`ID`", "-H", "Accept: */*", "-H", "X-Mark: \(mark)", "https://example.org/a$b"])
    }

    /// The command has no comment before its end: a shell would run the address as a separate command.
    @Test func binaryBodyKeepsTheURLInTheCommand() async throws {
        let request = session().upload(Data([0, 255]), to: "https://example.org/")
        _ = await request.serializingData().response
        for text in [request.cURLDescription(), request.cURLDescription(includingCredentials: true)] {
            let output = try shell("curl() { printf '%s\\n' \"$@\"; }\n\(text.dropFirst(2))\n")
            #expect(output.hasSuffix("--data-binary\n@-\nhttps://example.org/\n"))
        }
    }

    /// A combining mark after a quote: one character for Swift, two for a shell.
    @Test func combiningMarkAfterQuoteIsEscaped() async throws {
        let text = "a'\u{301}; b '\u{301}"
        let request = session().upload(Data(text.utf8), to: "https://example.org/")
        _ = await request.serializingData().response
        let command = request.cURLDescription(includingCredentials: true).dropFirst(2)
        let output = try shell("curl() { printf '%s\\n' \"$@\"; }\n\(command)\n")
        #expect(output.contains("\n-d\n\(text)\nhttps://example.org/\n"))
    }

    private func shell(_ script: String) throws -> String {
        let process = Process()
        let pipe = Pipe()
        // Foundation's `Process` retains itself and its pipes.
        defer { try? pipe.fileHandleForReading.close() }
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", script]
        process.standardOutput = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        return String(decoding: output, as: UTF8.self)
    }

    @Test(arguments: [false, true]) func plainDescriptionHandlerIsCalledOnce(late: Bool) async throws {
        let seen = Lock<[String]>([])
        let queue = DispatchQueue(label: "curl")
        let request = session().request("https://example.org/")
        if late { _ = await request.response() }
        request.cURLDescription(on: queue) { text in seen.withLock { $0.append(text) } }
        if !late { _ = await request.response() }
        try await eventually { queue.sync { !seen.withLock { $0 }.isEmpty } }
        #expect(seen.withLock { $0 } == [request.cURLDescription()])
    }
}
