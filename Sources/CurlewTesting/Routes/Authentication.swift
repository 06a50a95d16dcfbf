internal import Curlew
internal import CurlewCore
internal import Foundation

extension StandardRoutes {
    /// Basic, Bearer and Digest authentication.
    static let authentication: [Entry] = [
        Entry("/basic-auth/{user}/{password}", nil) { request in
            request.hasBasicCredentials
                ? authenticated(request, user: request.parameters["user"] ?? "")
                : .status(401, headers: ["WWW-Authenticate": "Basic realm=\"Fake Realm\""])
        },
        Entry("/hidden-basic-auth/{user}/{password}", nil) { request in
            request.hasBasicCredentials
                ? authenticated(request, user: request.parameters["user"] ?? "")
                : .text("nothing here\n", status: 404)
        },
        Entry("/bearer", nil) { request in
            let field = request.headers["Authorization"] ?? ""
            guard field.hasPrefix("Bearer "), field.count > 7 else {
                return .status(401, headers: ["WWW-Authenticate": "Bearer"])
            }
            return .json(.object([("authenticated", .bool(true)), ("token", .string(String(field.dropFirst(7))))]))
        },
        Entry("/digest-auth/{qop}/{user}/{password}", nil) { digest($0) },
        Entry("/digest-auth/{qop}/{user}/{password}/{algorithm}", nil) { digest($0) },
    ]

    private static func authenticated(_ request: TestServer.Request, user: String) -> TestServer.Response {
        .json(JSONValue.echo(request).adding([("authenticated", .bool(true)), ("user", .string(user))]))
    }

    private static func digest(_ request: TestServer.Request) -> TestServer.Response {
        let check = DigestCheck(request)
        guard check.knowsAlgorithm else { return .text("no such algorithm\n", status: 400) }
        switch check.verdict {
        case .right: return authenticated(request, user: check.user)
        case .missing: return .status(401, headers: ["WWW-Authenticate": check.challenge(isStale: false)])
        case .wrong: return .status(401, headers: ["WWW-Authenticate": check.challenge(isStale: false)])
        case .stale: return .status(401, headers: ["WWW-Authenticate": check.challenge(isStale: true)])
        }
    }
}

extension TestServer.Request {
    fileprivate var hasBasicCredentials: Bool {
        guard let field = headers["Authorization"], field.lowercased().hasPrefix("basic "),
            let bytes = Data(base64Encoded: String(field.dropFirst(6)))
        else { return false }
        return String(decoding: bytes, as: UTF8.self)
            == "\(parameters["user"] ?? ""):\(parameters["password"] ?? "")"
    }
}

/// Verifies Digest credentials according to RFC 7616 by computing the response hash.
///
/// A nonce contains a digest of itself and the port, so the server needs no list of nonces.
private struct DigestCheck {
    enum Verdict { case right, wrong, missing, stale }

    let user: String
    private let password: String
    private let qop: String
    private let algorithm: String
    private let request: TestServer.Request

    private static let realm = "me@curlew.test"
    private static let opaque = "5ccc069c403ebaf9f0171e9517f40e41"

    init(_ request: TestServer.Request) {
        self.request = request
        user = request.parameters["user"] ?? ""
        password = request.parameters["password"] ?? ""
        qop = request.parameters["qop"] ?? "auth"
        algorithm = (request.parameters["algorithm"] ?? "MD5").uppercased()
    }

    var knowsAlgorithm: Bool { ["MD5", "MD5-SESS", "SHA-256", "SHA-256-SESS"].contains(algorithm) }

    func challenge(isStale: Bool) -> String {
        let seed = String(request.connection) + "." + String(request.indexOnConnection)
        var field = "Digest realm=\"\(Self.realm)\", nonce=\"\(nonce(seed))\", opaque=\"\(Self.opaque)\""
        field += ", algorithm=\(algorithm.replacing("-SESS", with: "-sess"))"
        // `none` selects the form of RFC 2069, which has no quality of protection.
        if qop != "none" { field += ", qop=\"\(qop)\"" }
        return isStale ? field + ", stale=true" : field
    }

    var verdict: Verdict {
        guard let field = request.headers["Authorization"], field.lowercased().hasPrefix("digest ") else {
            return .missing
        }
        let given = { (name: String) in TestServer.Request.parameter(name, of: ";" + Self.separated(field.dropFirst(7)))
        }
        guard let nonce = given("nonce"), let response = given("response"), let uri = given("uri") else {
            return .wrong
        }
        guard isOurs(nonce) else { return .stale }
        guard given("username") == user, given("realm") == Self.realm, given("opaque") == Self.opaque,
            uri == request.target
        else { return .wrong }
        var secret = hash("\(user):\(Self.realm):\(password)")
        if algorithm.hasSuffix("-SESS") { secret = hash("\(secret):\(nonce):\(given("cnonce") ?? "")") }
        let used = given("qop")
        var action = "\(request.method):\(uri)"
        if used == "auth-int" { action += ":" + hash(request.body) }
        let middle: String
        if let used {
            guard qop.split(separator: ",").contains(where: { $0 == used }), let count = given("nc"),
                let clientNonce = given("cnonce")
            else { return .wrong }
            middle = "\(nonce):\(count):\(clientNonce):\(used)"
        } else {
            guard qop == "none" else { return .wrong }
            middle = nonce
        }
        return response == hash("\(secret):\(middle):\(hash(action))") ? .right : .wrong
    }

    /// Replaces commas outside quotes with semicolons, the separators that `parameter` expects.
    private static func separated(_ text: Substring) -> String {
        var isQuoted = false
        return String(
            text.map { character in
                if character == "\"" { isQuoted.toggle() }
                return character == "," && !isQuoted ? ";" : character
            }
        )
    }

    private func nonce(_ seed: String) -> String {
        "\(seed)-\(Digest.hex(.md5, of: "\(seed):\(request.serverPort)") ?? "")"
    }

    private func isOurs(_ nonce: String) -> Bool {
        nonce == self.nonce(String(nonce.prefix { $0 != "-" }))
    }

    private func hash(_ text: String) -> String { hash(Data(text.utf8)) }

    private func hash(_ data: Data) -> String {
        Digest.hex(algorithm.hasPrefix("SHA-256") ? .sha256 : .md5, of: data) ?? ""
    }
}
