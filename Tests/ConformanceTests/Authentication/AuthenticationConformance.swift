internal import Curlew
internal import CurlewCore
internal import Foundation
internal import Testing

@testable internal import CurlewTesting

/// Compares the fields that libcurl sends for Curlew's credentials with published vectors.
@Suite("Credentials on the wire", .timeLimit(.minutes(4)))
struct AuthenticationConformance {
    /// A sink that discards the response.
    private final class Sink: TransferSink {
        func didReceive(body: UnsafeRawBufferPointer) -> Disposition { .proceed }
    }

    /// A transport that adds no proxy and no accepted codings to the case's request.
    private static func transport() -> any Transport {
        SessionConfiguration {
            $0.proxy = .none
            $0.acceptedEncodings = []
        }.makeTransport()
    }

    /// Performs a request, and returns a field of the last request that the server received.
    private static func sent(
        _ field: String = "Authorization",
        in request: TransferRequest,
        over transport: any Transport,
        to server: TestServer
    ) async throws -> String {
        _ = try await transport.perform(request, sink: Sink())
        return server.requests.last?.headers[field] ?? ""
    }

    // MARK: Basic

    struct BasicCase: CorpusCase {
        let id: String
        let username: String
        let password: String
        let expected: String
        var group: String { "basic" }
    }

    @Test("Basic")
    func basic() async throws {
        let server = try TestServer()
        let transport = Self.transport()
        var verdicts: [String: Verdict] = [:]
        for (index, item) in try Corpus.cases("auth-basic", as: BasicCase.self).enumerated() {
            var request = TransferRequest(
                identifier: TaskIdentifier(rawValue: UInt64(index + 1)), url: server.url("/get"))
            request.options.authentication = TransferAuthentication(
                scheme: .basic,
                username: item.username,
                password: item.password
            )
            let field = HTTPHeader.authorization(username: item.username, password: item.password)
            let sent = try await Self.sent(in: request, over: transport, to: server)
            verdicts[item.id] = .compare([sent, field.value], [item.expected, item.expected])
        }
        try conform("auth-basic") { (item: BasicCase) in verdicts[item.id] ?? .notCounted }
        await transport.shutdown()
        server.stop()
    }

    // MARK: Digest

    struct DigestCase: CorpusCase {
        let id: String
        let challenge: String
        let method: String
        let uri: String
        let username: String
        let password: String
        let cnonce: String
        let nonce_count: Int
        let expected: [String: String?]
        /// Whether the challenge is a proxy's. `nil` means `false`.
        let proxy: Bool?
        var group: String { expected["algorithm"].flatMap { $0?.uppercased() } ?? "no algorithm" }
    }

    /// Whether the running libcurl knows the algorithm: SHA-512/256 needs libcurl 8.7.
    private static func isKnown(_ item: DigestCase) -> Bool {
        !item.group.hasPrefix("SHA-512-256") || Capabilities.current.isAtLeast(8, 7, 0)
    }

    @Test("Digest")
    func digest() async throws {
        let server = try TestServer()
        let transport = Self.transport()
        var verdicts: [String: Verdict] = [:]
        for (index, item) in try Corpus.cases("auth-digest", as: DigestCase.self).enumerated() where Self.isKnown(item)
        {
            let isProxy = item.proxy == true
            let field = isProxy ? "Proxy-Authorization" : "Authorization"
            server.route("/*") { call in
                if call.headers[field] != nil { return .text("in") }
                return isProxy
                    ? .status(407, headers: ["Proxy-Authenticate": item.challenge])
                    : .status(401, headers: ["WWW-Authenticate": item.challenge])
            }
            var request = TransferRequest(
                identifier: TaskIdentifier(rawValue: UInt64(index + 1)),
                url: isProxy ? try #require(URL(string: "http://origin.test" + item.uri)) : server.url(item.uri),
                method: HTTPMethod(rawValue: item.method)
            )
            if isProxy {
                request.options.proxy = .url(server.url("/"), username: item.username, password: item.password)
            } else {
                request.options.authentication = TransferAuthentication(
                    scheme: .digest,
                    username: item.username,
                    password: item.password
                )
            }
            let sent = try await Self.sent(field, in: request, over: transport, to: server)
            verdicts[item.id] = Self.evaluate(item, sent)
        }
        try conform("auth-digest") { (item: DigestCase) in verdicts[item.id] ?? .notCounted }
        await transport.shutdown()
        server.stop()
    }

    /// The vector fixes the cnonce, but libcurl chooses a random one. Therefore this computes the expected response for
    /// libcurl's cnonce, after it has checked that the same formula gives the vector's response for the vector's
    /// cnonce.
    private static func evaluate(_ item: DigestCase, _ field: String) -> Verdict {
        guard let challenge = AuthenticationChallenge.parse([item.challenge]).first,
            let sent = AuthenticationChallenge.parse([field]).first, sent.scheme == "Digest"
        else { return .failed("sent \(field)") }
        let expected = item.expected.compactMapValues { $0 }
        let hashes = expected["response"]?.count == 32 ? DigestHash(.md5) : DigestHash(.sha256)
        let count = String(item.nonce_count, radix: 16)
        let known = hashes.response(
            item, challenge, qop: expected["qop"], cnonce: item.cnonce,
            count: String(repeating: "0", count: 8 - count.count) + count)
        let canCompute = !item.group.hasPrefix("SHA-512")
        if canCompute, known != expected["response"] { return .failed("the formula gives \(known)") }
        let wanted =
            canCompute
            ? hashes.response(
                item, challenge, qop: sent.parameters["qop"], cnonce: sent.parameters["cnonce"] ?? "",
                count: sent.parameters["nc"] ?? "")
            : expected["response"]
        guard sent.parameters["response"] == wanted else { return .failed("a wrong response: \(field)") }
        for name in ["username", "uri", "qop", "opaque", "userhash"] where sent.parameters[name] != expected[name] {
            return .failed("\(name) is \(sent.parameters[name] ?? "missing"): \(field)")
        }
        guard sent.parameters["algorithm"]?.lowercased() == expected["algorithm"]?.lowercased() else {
            return .failed("another algorithm: \(field)")
        }
        // RFC 7616, 3.4: the values of these parameters must not be quoted.
        let quoted = ["qop", "nc", "algorithm", "userhash"].filter { field.contains("\($0)=\"") }
        return quoted.isEmpty ? .passed : .failed("\(quoted) in quotes")
    }

    // MARK: AWS Signature Version 4

    struct SignatureCase: CorpusCase {
        struct Request: Decodable {
            let method: String
            let target: String
            let headers: [[String]]
            let body: String
        }
        struct Context: Decodable {
            struct Credentials: Decodable {
                let access_key_id: String
                let secret_access_key: String
                let token: String?
            }
            let credentials: Credentials
            let region: String
            let service: String
            let timestamp: String
            let sign_body: Bool
            let omit_session_token: Bool?
        }
        struct Signed: Decodable { let authorization: String }
        let id: String
        let request: Request
        let context: Context
        let header: Signed
        var group: String { context.sign_body ? "signed body" : "unsigned body" }
    }

    private static let differences = [
        "sigv4-get-relative-relative-unnormalized":
            "what is sent has no dot segments: libcurl takes them out of the path",
        "sigv4-get-slash-dot-slash-unnormalized":
            "what is sent has no dot segments: libcurl takes them out of the path",
        "sigv4-get-slash-pointless-dot-unnormalized":
            "what is sent has no dot segments: libcurl takes them out of the path",
        "sigv4-get-space-normalized":
            "has a raw space in its path, which no URL has: services but S3 encode the path as they receive it, %20 as %2520",
        "sigv4-get-space-unnormalized":
            "has a raw space in its path, which no URL has: services but S3 encode the path as they receive it, %20 as %2520",
        "sigv4-get-slash-unnormalized":
            "asks for S3's way of a service that is not S3: all others have one slash for several",
        "sigv4-get-slashes-unnormalized":
            "asks for S3's way of a service that is not S3: all others have one slash for several",
    ]

    @Test("AWS Signature Version 4")
    func signatures() async throws {
        let server = try TestServer()
        server.route("/*") { _ in .text("in") }
        server.route("/") { _ in .text("in") }
        let transport = Self.transport()
        var verdicts: [String: Verdict] = [:]
        for (index, item) in try Corpus.cases("auth-sigv4", as: SignatureCase.self).enumerated() {
            let request = try Self.request(item, index, server)
            let sent = try await Self.sent(in: request, over: transport, to: server)
            verdicts[item.id] = .compare(sent, item.header.authorization)
        }
        try conform("auth-sigv4", expectedDifferences: Self.differences) { (item: SignatureCase) in
            verdicts[item.id] ?? .notCounted
        }
        await transport.shutdown()
        server.stop()
    }

    private static func request(_ item: SignatureCase, _ index: Int, _ server: TestServer) throws -> TransferRequest {
        let allowed = CharacterSet(charactersIn: "/?&=%-._~!$'()*+,;:@").union(.alphanumerics)
            .intersection(CharacterSet(charactersIn: Unicode.Scalar(0)..<Unicode.Scalar(128)))
        let target = try #require(item.request.target.addingPercentEncoding(withAllowedCharacters: allowed))
        let url = try #require(URL(string: "http://127.0.0.1:\(server.port)\(target)"))
        var request = TransferRequest(
            identifier: TaskIdentifier(rawValue: UInt64(index + 1)),
            url: url,
            method: HTTPMethod(rawValue: item.request.method),
            body: item.request.body.isEmpty ? .none : .data(Data(item.request.body.utf8))
        )
        for field in item.request.headers {
            // A folded value cannot be sent, so each fold becomes a space, as HTTP reads it.
            request.headers.append(name: field[0], value: field[1].replacing("\n", with: " "))
        }
        let date = item.context.timestamp.filter { $0 != "-" && $0 != ":" }
        request.headers.append(name: "X-Amz-Date", value: date)
        if let token = item.context.credentials.token, item.context.omit_session_token != true {
            request.headers.append(name: "X-Amz-Security-Token", value: token)
        }
        if item.context.sign_body {
            request.headers.append(
                name: "X-Amz-Content-Sha256", value: Digest.hex(.sha256, of: item.request.body) ?? "")
        }
        request.options.authentication = TransferAuthentication(
            scheme: .awsSigV4(provider: "aws:amz:\(item.context.region):\(item.context.service)"),
            username: item.context.credentials.access_key_id,
            password: item.context.credentials.secret_access_key
        )
        return request
    }
}

/// Computes the response of RFC 7616, 3.4.1.
private struct DigestHash {
    let algorithm: ChecksumAlgorithm

    init(_ algorithm: ChecksumAlgorithm) { self.algorithm = algorithm }

    func response(
        _ item: AuthenticationConformance.DigestCase,
        _ challenge: AuthenticationChallenge,
        qop: String?,
        cnonce: String,
        count: String
    ) -> String {
        let nonce = challenge.parameters["nonce"] ?? ""
        var secret = hash("\(item.username):\(challenge.realm ?? ""):\(item.password)")
        if challenge.parameters["algorithm"]?.lowercased().hasSuffix("-sess") == true {
            secret = hash("\(secret):\(nonce):\(cnonce)")
        }
        let action = hash("\(item.method):\(item.uri)")
        guard let qop else { return hash("\(secret):\(nonce):\(action)") }
        return hash("\(secret):\(nonce):\(count):\(cnonce):\(qop):\(action)")
    }

    private func hash(_ text: String) -> String { Digest.hex(algorithm, of: text) ?? "" }
}
