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
        .json(JSONText.echo(request).adding([("authenticated", .bool(true)), ("user", .string(user))]))
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

extension JSONText {
    func adding(_ more: [(String, JSONText)]) -> JSONText {
        if case .object(let members) = self { .object(members + more) } else { self }
    }
}
