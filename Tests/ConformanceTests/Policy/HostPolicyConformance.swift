internal import CurlewCore
internal import Testing

@Suite("Strict transport security and proxy exclusions", .timeLimit(.minutes(4)))
struct HostPolicyConformance {
    @Test("Strict-Transport-Security parses as RFC 6797 says")
    func strictTransportSecurity() throws {
        struct Case: CorpusCase {
            let id: String
            let input: String
            let valid: Bool
            let max_age: Int64?
            let include_subdomains: Bool?
            var group: String { valid ? "valid" : "invalid" }
        }
        try conform("hsts-header") { (item: Case) in
            let policy = StrictTransportSecurity(item.input)
            guard item.valid, let policy else { return .compare(policy != nil, item.valid) }
            if let age = item.max_age, policy.maxAge != age { return .compare(policy.maxAge, age) }
            return .compare(policy.includesSubdomains, item.include_subdomains ?? policy.includesSubdomains)
        }
    }

    @Test("NO_PROXY matches as curl's does")
    func proxyExclusions() throws {
        struct Case: CorpusCase {
            let id: String
            let host: String
            let no_proxy: String
            let bypass: Bool
            var group: String { "" }
        }
        try conform("no-proxy") { (item: Case) in
            .compare(ProxyExclusions(item.no_proxy).contains(item.host), item.bypass)
        }
    }
}
