public import CurlewCore
internal import Foundation

/// Selects by host the evaluator that judges a server's certificates.
///
///     ServerTrustManager(evaluators: ["api.example.com": PublicKeysTrustEvaluator(pins: ["sha256//…"])])
// SAFETY: the properties are constants of Sendable types.
open class ServerTrustManager: @unchecked Sendable {
    /// Whether a host without an evaluator is refused. Otherwise the session's rules apply to it.
    public let allHostsMustBeEvaluated: Bool
    /// The evaluators by host, as they were given. Hosts are compared without regard to case.
    public let evaluators: [String: any ServerTrustEvaluating]
    private let byHost: [String: any ServerTrustEvaluating]
    /// The evaluator for all hosts, if there is one.
    private let uniform: (any ServerTrustEvaluating)?
    /// Identifies this manager across processes. Cached responses of servers that it has judged are kept apart by it.
    let identity = UUID().uuidString

    /// Creates a manager. A host without an evaluator is refused unless `allHostsMustBeEvaluated` is false.
    public init(allHostsMustBeEvaluated: Bool = true, evaluators: [String: any ServerTrustEvaluating]) {
        self.allHostsMustBeEvaluated = allHostsMustBeEvaluated
        self.evaluators = evaluators
        // Sorted, so that of two keys for one host the same one wins each time.
        let hosts = evaluators.sorted { $0.key < $1.key }.map { (Self.canonical($0.key), $0.value) }
        byHost = Dictionary(hosts) { _, last in last }
        uniform = nil
    }

    /// Creates a manager that asks one evaluator about every host.
    package init(forAllHosts evaluator: any ServerTrustEvaluating) {
        allHostsMustBeEvaluated = true
        evaluators = [:]
        byHost = [:]
        uniform = evaluator
    }

    /// The form in which a key and a URL's host are compared. Removes the brackets of an IPv6 address.
    private static func canonical(_ host: String) -> String {
        let bare = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
        return Hostname.canonical(bare) ?? bare.lowercased()
    }

    /// Returns the evaluator for a host; `nil` applies the session's rules. Override it to support patterns of hosts.
    open func serverTrustEvaluator(forHost host: String) throws -> (any ServerTrustEvaluating)? {
        if let evaluator = uniform ?? byHost[Self.canonical(host)] { return evaluator }
        guard !allHostsMustBeEvaluated else {
            throw CurlewError.noTrustEvaluator(for: host)
        }
        return nil
    }
}

/// Judges a server's certificates. Evaluators run on the transport's thread, so they must not block or do I/O.
public protocol ServerTrustEvaluating: Sendable {
    /// Throws unless the server is trusted.
    func evaluate(_ trust: ServerTrust, forHost host: String) throws
}

/// The evaluation for a transport: by the manager's evaluator, or by the session's rules if there is none.
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
            throw ErrorWrapping.trust(error)
        }
    }
}
