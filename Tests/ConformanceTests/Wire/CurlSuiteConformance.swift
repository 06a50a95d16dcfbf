internal import Curlew
internal import CurlewCore
internal import CurlewLocks
internal import CurlewTesting
internal import Foundation
internal import Testing

/// Replays the server responses of curl's test suite to a session that makes the requests of curl's command lines.
@Suite("Server responses of curl's test suite", .timeLimit(.minutes(4)))
struct CurlSuiteConformance {
    struct Case: CorpusCase {
        struct Reply: Decodable { let bytes_hex: String }
        let id: String
        let test: Int
        let keywords: [String]
        let tool: String?
        let replies: [String: Reply]
        let servercmd: [String]?
        let postcmd: [String]?
        let command: String?
        let curl_exit_code: Int
        let requests: String?
        let replayed_exit: [String: Int]?
        var group: String { curl_exit_code == 0 ? "answers" : "errors" }
    }

    @Test("responses succeed or fail as in curl, after the same requests")
    func replies() async throws {
        let cases = try Corpus.cases("curl-tests", as: Case.self)
        var verdicts: [String: Verdict] = [:]
        for item in cases { verdicts[item.id] = await evaluate(item) }
        try conform("curl-tests", expectedDifferences: Self.differences) { (item: Case) in
            verdicts[item.id] ?? .notCounted
        }
    }

    static let differences = [
        "curl-1286":
            "the hop of a redirect is a request of its own: it waits for a challenge before it proves a password"
    ]

    private func evaluate(_ item: Case) async -> Verdict {
        // Cases that use libcurl's C interface, and cases with another result for older versions of curl, are not
        // counted.
        guard item.tool == nil, item.replayed_exit?.values.allSatisfy({ $0 == item.curl_exit_code }) != false,
            item.servercmd?.contains(where: { $0.hasPrefix("skip") }) != true,
            let line = item.command.flatMap(CurlLine.init), let server = try? ReplayServer(item)
        else { return .notCounted }
        let response = await line.send(to: server.port)
        guard item.curl_exit_code != 0 else {
            if let error = response.error { return .failed("\(error)") }
            return requests(item, line, server)
        }
        guard let error = response.error else { return .failed("passed as \(response.response?.statusCode ?? 0)") }
        let expected = Self.codes[item.curl_exit_code] ?? []
        return expected.contains(error.code) ? .passed : .failed("\(error)")
    }

    /// The error codes of Curlew for each exit code of curl.
    static let codes: [Int: [CurlewError.Code]] = [
        1: [.protocolViolation, .redirectRefused], 3: [.invalidURL, .redirectRefused], 8: [.protocolViolation],
        18: [.truncated], 22: [.unacceptableStatus], 28: [.totalTimedOut], 47: [.tooManyRedirects],
        52: [.receiveFailed], 56: [.receiveFailed, .truncated, .protocolViolation], 61: [.contentDecodingFailed],
        63: [.limitExceeded], 100: [.limitExceeded],
    ]

    /// Compares the methods and targets of all requests with those that curl sent.
    private func requests(_ item: Case, _ line: CurlLine, _ server: ReplayServer) -> Verdict {
        let sent = server.requests.map { "\($0.method) \($0.target)" }
        let expected = (item.requests ?? "").matches(of: /(GET|POST|HEAD|PUT|IGLOO) (\S+) HTTP\/1\.1/)
            .map { "\($0.1) \($0.2)".replacing("%PORT%", with: "\(server.port)") }
        guard line.authenticates else { return .compare(sent, expected) }
        // If curl expects a challenge, it first sends an empty body. Curlew may send one request more or less to that
        // target, so repetitions are ignored.
        return .compare(Self.withoutRepetitions(sent), Self.withoutRepetitions(expected))
    }

    private static func withoutRepetitions(_ lines: [String]) -> [String] {
        lines.indices.filter { $0 == 0 || lines[$0] != lines[$0 - 1] }.map { lines[$0] }
    }
}

/// The request that a command line of curl describes.
struct CurlLine: Sendable {
    private var url = ""
    private var method: String?
    private var headers = HTTPHeaders()
    private var body: String?
    private var follows = false
    private var redirectLimit = 20
    private var fails = false
    private var seconds: Int?
    private var sizeLimit: Int?
    private var credentials: (name: String, password: String)?
    private var scheme = TransferAuthentication.Scheme.basic
    private var usesProxy = false

    var authenticates: Bool { credentials != nil }

    /// Returns `nil` if the line has several URLs, or an option that a session's request cannot express.
    init?(_ line: String) {
        var words = Self.words(of: line)[...]
        while let word = words.popFirst() {
            switch word {
            case "-L", "--location", "--follow": follows = true
            case "-i", "-s", "-sS", "-4", "--compressed", "--no-include", "--http1.1": break
            case "-D", "-w", "-o": words = words.dropFirst()
            case "--head", "-I": method = "HEAD"
            case "--fail": fails = true
            case "--digest": scheme = .digest
            case "--anyauth": scheme = .any
            case "--max-redirs", "-m", "--max-filesize", "-X", "-d", "-H", "-u", "-r", "-x", "--proxy":
                guard let value = words.popFirst(), take(word, value) else { return nil }
            default:
                guard !word.hasPrefix("-"), url.isEmpty else { return nil }
                url = word
            }
        }
        guard url.hasPrefix("http://"), !url.contains("{") else { return nil }
    }

    private mutating func take(_ option: String, _ value: String) -> Bool {
        switch option {
        case "--max-redirs": redirectLimit = Int(value) ?? 20
        case "-m": seconds = Int(value)
        case "--max-filesize": sizeLimit = Int(value)
        case "-X": method = value
        case "-d":
            guard !value.hasPrefix("@") else { return false }
            body = value
        case "-r": headers.append(name: "Range", value: "bytes=\(value)")
        case "-u":
            let parts = value.split(separator: ":", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { return false }
            credentials = (parts[0], parts[1])
        case "-x", "--proxy": usesProxy = true
        default:
            let parts = value.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { return false }
            headers.append(name: String(parts[0]), value: parts[1].trimmingCharacters(in: .whitespaces))
        }
        return true
    }

    private static func words(of line: String) -> [String] {
        var words: [String] = []
        var quote: Character?
        var word = ""
        for character in line {
            if character == quote {
                quote = nil
            } else if quote == nil, character == "\"" || character == "'" {
                quote = character
            } else if quote == nil, character == " " {
                if !word.isEmpty { words.append(word) }
                word = ""
            } else {
                word.append(character)
            }
        }
        return word.isEmpty ? words : words + [word]
    }

    func send(to port: Int) async -> DataResponse<Data?, CurlewError> {
        let (follows, limit, usesProxy) = (follows, redirectLimit, usesProxy)
        let session = Session(
            configuration: SessionConfiguration {
                $0.redirects.limit = limit
                $0.proxy = usesProxy ? .url(URL(string: "http://127.0.0.1:\(port)") ?? URL(filePath: "/")) : .none
            })
        let (target, method) = (url.replacing("%PORT%", with: "\(port)"), method ?? (body == nil ? "GET" : "POST"))
        let (headers, body) = (headers, body)
        let request = session.request(target, method: HTTPMethod(rawValue: method), headers: headers) { request in
            request.httpBody = body.map { Data($0.utf8) }
        }
        .timeouts { $0.total = .seconds(seconds ?? 30) }
        if !follows { request.redirect(using: Redirector.doNotFollow) }
        if fails { request.validate() }
        if let sizeLimit { request.maximumBodySize(sizeLimit) }
        if let credentials {
            request.authenticate(
                with: TransferAuthentication(
                    scheme: scheme, username: credentials.name, password: credentials.password))
        }
        return await request.response()
    }
}

/// Serves the replies of a case, and selects them as the server of curl's test suite does.
final class ReplayServer: Sendable {
    private let server: TestServer
    private let bounces = Lock<[Int: Int]>([:])

    var port: Int { server.port }
    var requests: [TestServer.Request] { server.requests }

    init(_ item: CurlSuiteConformance.Case) throws {
        server = try TestServer()
        let port = Data("\(server.port)".utf8)
        let replies = item.replies.compactMapValues {
            Data(hex: $0.bytes_hex)?.replacing(Data("%PORT%".utf8), with: port)
        }
        let waits = item.postcmd?.contains { $0.hasPrefix("wait") } == true
        let isFaulty = item.curl_exit_code != 0
        server.route("/*") { [bounces] request in
            let reply = replies[bounces.withLock { Self.section(for: request, replies, &$0) }] ?? Data()
            var answer = TestServer.Response.raw([reply])
            // Closes only after a reply that announces it, is faulty or has no length. After any other reply, the
            // client could send its next request before it sees the close.
            let text = String(decoding: reply, as: UTF8.self).lowercased()
            let saysClose = text.contains("swsclose") || text.contains("connection: close")
            answer.closesConnection = isFaulty || saysClose || !text.contains("content-length:")
            if waits { answer = answer.faulting(.stall(), at: .atEnd) }
            return answer
        }
    }

    deinit { server.stop() }

    private static func section(
        for request: TestServer.Request, _ replies: [String: Data], _ bounces: inout [Int: Int]
    ) -> String {
        let digits = request.target.split(separator: "/").last?.prefix { $0.isNumber } ?? ""
        let number = Int(digits) ?? 0
        let (test, part) = number > 10_000 ? (number / 10_000, number % 10_000) : (number, 0)
        var chosen = part
        let authorization = request.headers["Authorization"] ?? ""
        if authorization.hasPrefix("Digest") {
            chosen += 1000
        } else if authorization.hasPrefix("Basic"), chosen >= 1000 {
            chosen += 1
        }
        if let bounced = bounces[test] { chosen = bounced }
        let name = chosen == 0 ? "data" : "data\(chosen)"
        let isBounce = replies[name]?.range(of: Data("swsbounce".utf8)) != nil
        bounces[test] = isBounce ? chosen + 1 : nil
        return name
    }
}
