public import CurlewCore
internal import CurlewFailures
internal import Foundation

/// Decides by host who judges a server's certificates.
///
///     ServerTrustManager(evaluators: ["api.example.com": PublicKeysTrustEvaluator(pins: ["sha256//…"])])
// SAFETY: the properties are constants of Sendable types.
open class ServerTrustManager: @unchecked Sendable {
    /// Whether a host without an evaluator is refused. Otherwise the session's own rules decide about it.
    public let allHostsMustBeEvaluated: Bool
    /// Evaluators by host, as they were given. Hosts are compared without regard to case.
    public let evaluators: [String: any ServerTrustEvaluating]
    private let byHost: [String: any ServerTrustEvaluating]
    /// The same one for every host, where there is one.
    private let uniform: (any ServerTrustEvaluating)?
    /// Names this manager and no other, in this process or another one, for what was stored of servers that it judged.
    let identity = UUID().uuidString

    /// Creates a manager; a host without an evaluator is refused unless `allHostsMustBeEvaluated` is false.
    public init(allHostsMustBeEvaluated: Bool = true, evaluators: [String: any ServerTrustEvaluating]) {
        self.allHostsMustBeEvaluated = allHostsMustBeEvaluated
        self.evaluators = evaluators
        // In order, so that of two keys for one host the same one wins each time.
        let hosts = evaluators.sorted { $0.key < $1.key }.map { (Self.canonical($0.key), $0.value) }
        byHost = Dictionary(hosts) { _, last in last }
        uniform = nil
    }

    /// Asks one evaluator about every host.
    package init(forAllHosts evaluator: any ServerTrustEvaluating) {
        allHostsMustBeEvaluated = true
        evaluators = [:]
        byHost = [:]
        uniform = evaluator
    }

    /// As a name and its URL agree on it; an IPv6 address may stand in brackets.
    private static func canonical(_ host: String) -> String {
        let bare = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
        return Hostname.canonical(bare) ?? bare.lowercased()
    }

    /// The evaluator for a host; nil leaves it to the session. Override it for patterns of hosts.
    open func serverTrustEvaluator(forHost host: String) throws -> (any ServerTrustEvaluating)? {
        if let evaluator = uniform ?? byHost[Self.canonical(host)] { return evaluator }
        guard !allHostsMustBeEvaluated else {
            throw CurlewError.serverTrustEvaluationFailed(reason: .noRequiredEvaluator(host: host))
        }
        return nil
    }
}

/// Judges a server's certificates. Synchronous and without I/O: it runs on the transport's thread.
public protocol ServerTrustEvaluating: Sendable {
    /// Throws unless the server is trusted.
    func evaluate(_ trust: ServerTrust, forHost host: String) throws
}

/// What a transport asks: the manager's evaluator, or the session's own rules where it has none.
struct ManagedTrustEvaluation: TrustEvaluation, Equatable {
    let manager: ServerTrustManager
    /// The session's rules for hosts without an evaluator.
    let verification: CertificateVerification

    static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.manager === rhs.manager && lhs.verification == rhs.verification
    }

    func evaluate(_ trust: ServerTrust) throws {
        do {
            if let evaluator = try manager.serverTrustEvaluator(forHost: trust.host) {
                try evaluator.evaluate(trust, forHost: trust.host)
            } else {
                if verification != .none { try trust.performDefaultValidation() }
                if verification == .full { try trust.performValidation(forHost: trust.host) }
            }
        } catch {
            throw error.asCurlewError(or: .serverTrustEvaluationFailed(reason: .customEvaluationFailed(error: error)))
        }
    }
}
