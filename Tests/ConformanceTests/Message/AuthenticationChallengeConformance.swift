internal import CurlewCore
internal import Testing

@Suite("Authentication challenges", .timeLimit(.minutes(4)))
struct AuthenticationChallengeConformance {
    struct Case: CorpusCase {
        struct Challenge: Decodable, Equatable {
            let scheme: String
            let params: [String: String]
            let token68: String?
        }
        struct Digest: Decodable, Equatable {
            var realm: String
            var nonce: String
            var domain: String
            var opaque: String
            var stale: Bool
            var algorithm: String
            var qop: String
        }
        let id: String
        let source: String
        let header_lines: [String]
        let expected: [Challenge]?
        let expected_realm: String?
        let expected_digest: Digest?
        let digest_usable: Bool?
        let level: String?
        var group: String { String(source.prefix { $0 != " " }) }
    }

    @Test("challenges parse into scheme, parameters and token")
    func challenges() throws {
        try conform("auth-challenges") { (item: Case) in
            let challenges = AuthenticationChallenge.parse(item.header_lines)
            if let expected = item.expected {
                let actual = challenges.map {
                    Case.Challenge(scheme: $0.scheme, params: $0.parameters, token68: $0.token68)
                }
                let folded = expected.map { challenge in
                    let params = challenge.params.map { ($0.key.lowercased(), $0.value) }
                    return Case.Challenge(
                        scheme: challenge.scheme, params: Dictionary(params) { first, _ in first },
                        token68: challenge.token68)
                }
                return .compare(actual, folded)
            }
            if let realm = item.expected_realm { return .compare(challenges.first?.realm ?? "", realm) }
            let digest = challenges.first.flatMap(Self.digest)
            return item.digest_usable == false ? .compare(digest, nil) : .compare(digest, item.expected_digest)
        }
    }

    /// Reads a challenge as a Digest handler would. Curlew leaves Digest to libcurl, so this only shows that the
    /// parameters are parsed.
    static func digest(_ challenge: AuthenticationChallenge) -> Case.Digest? {
        guard challenge.scheme.lowercased() == "digest", let nonce = challenge.parameters["nonce"], !nonce.isEmpty
        else { return nil }
        let algorithms = [
            "md5": "MD5", "md5-sess": "MD5_SESS", "sha-256": "SHA256", "sha-256-sess": "SHA256_SESS",
        ]
        let parameters = challenge.parameters
        var algorithm = "UNSPECIFIED"
        if let name = parameters["algorithm"] {
            guard let known = algorithms[name.lowercased()] else { return nil }
            algorithm = known
        }
        let qops = (parameters["qop"] ?? "").lowercased().split { ", ".contains($0) }
        return Case.Digest(
            realm: challenge.realm ?? "", nonce: nonce, domain: parameters["domain"] ?? "",
            opaque: parameters["opaque"] ?? "", stale: parameters["stale"]?.lowercased() == "true",
            algorithm: algorithm, qop: qops.contains("auth") ? "QOP_AUTH" : "QOP_UNSPECIFIED")
    }
}
