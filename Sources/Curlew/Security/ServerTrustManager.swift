public import CurlewCore
public import Foundation

/// Selects by host the evaluator of a server's certificates.
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
    /// Identifies this manager across processes. It separates the cached responses of servers that different managers
    /// have evaluated.
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
        let bare = Hostname.withoutBrackets(host)
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

/// Evaluates a server's certificates. Evaluators run on the transport's thread, so they must not block or do I/O.
public protocol ServerTrustEvaluating: Sendable {
    /// Throws unless the server is trusted.
    func evaluate(_ trust: ServerTrust, forHost host: String) throws
}

/// Demands a trusted chain and a certificate for the host, as every client should.
public final class DefaultTrustEvaluator: ServerTrustEvaluating {
    private let validateHost: Bool

    /// Creates an evaluator. Without `validateHost`, only the certificate chain is checked, not the host name.
    public init(validateHost: Bool = true) { self.validateHost = validateHost }

    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        if validateHost { try trust.performValidation(forHost: host) }
        try trust.performDefaultValidation()
    }
}

/// Demands that the server's verified path contains one of the pinned certificates.
public final class PinnedCertificatesTrustEvaluator: ServerTrustEvaluating {
    private let certificates: [Certificate]
    private let acceptSelfSignedCertificates: Bool
    private let performDefaultValidation: Bool
    private let validateHost: Bool

    /// Creates an evaluator. With `acceptSelfSignedCertificates`, the pinned certificates are the only trusted roots.
    public init(
        certificates: [Certificate] = Certificate.all(in: .main),
        acceptSelfSignedCertificates: Bool = false,
        performDefaultValidation: Bool = true,
        validateHost: Bool = true
    ) {
        self.certificates = certificates
        self.acceptSelfSignedCertificates = acceptSelfSignedCertificates
        self.performDefaultValidation = performDefaultValidation
        self.validateHost = validateHost
    }

    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        guard !certificates.isEmpty else { throw CurlewError.noPinnedCertificates }
        if performDefaultValidation {
            try trust.performDefaultValidation(anchors: acceptSelfSignedCertificates ? certificates : nil)
        }
        if validateHost { try trust.performValidation(forHost: host) }
        let shown = trust.verifiedCertificates
        guard !Set(shown).isDisjoint(with: certificates) else {
            throw CurlewError.certificateNotPinned(
                host: host,
                pinned: certificates.map(\.data),
                server: shown.map(\.data)
            )
        }
    }
}

/// Demands that a certificate in the server's verified path has one of the pinned public keys.
public final class PublicKeysTrustEvaluator: ServerTrustEvaluating {
    private let pins: Set<Data>
    /// The first malformed pin.
    private let malformed: MalformedPin?
    private let keys: [PublicKey]
    private let performDefaultValidation: Bool
    private let validateHost: Bool

    /// Creates an evaluator that accepts paths with one of these keys.
    public init(
        keys: [PublicKey] = Certificate.all(in: .main).map(\.publicKey),
        performDefaultValidation: Bool = true,
        validateHost: Bool = true
    ) {
        self.keys = keys
        malformed = nil
        pins = Set(keys.map(\.sha256))
        self.performDefaultValidation = performDefaultValidation
        self.validateHost = validateHost
    }

    /// Creates an evaluator from pins in curl's form, `sha256//<base64>`, or in base64 alone. A malformed pin makes
    /// every evaluation fail, even next to valid ones. If it were ignored, connections would fail on the day when the
    /// server changes to that key.
    public init(pins: [String], performDefaultValidation: Bool = true, validateHost: Bool = true) {
        keys = []
        malformed = pins.first { PublicKeyPin($0) == nil }.map(MalformedPin.init)
        self.pins = Set(pins.compactMap { PublicKeyPin($0)?.digest })
        self.performDefaultValidation = performDefaultValidation
        self.validateHost = validateHost
    }

    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        if let malformed {
            throw CurlewError.trustEvaluatorFailed(malformed)
        }
        guard !pins.isEmpty else { throw CurlewError.noPinnedKeys }
        if performDefaultValidation { try trust.performDefaultValidation() }
        if validateHost { try trust.performValidation(forHost: host) }
        let shown = trust.verifiedCertificates.map(\.publicKey)
        guard shown.contains(where: { pins.contains($0.sha256) }) else {
            var error = CurlewError.keyNotPinned(
                host: host,
                pinned: keys.map(\.data),
                server: shown.map(\.data)
            )
            error.reason += " The server's: " + shown.map(\.pin).joined(separator: ", ") + "."
            error.suggestion = CurlewError.pinSuggestion
            throw error
        }
    }
}

/// Accepts every server: an attacker on the path can read and change the traffic. Never use it in production.
public final class DisabledTrustEvaluator: ServerTrustEvaluating {
    /// Creates an evaluator that accepts everything: for tests only.
    public init() {}

    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {}
}

extension ServerTrust {
    /// The certificates that could be parsed, the server's first.
    public var certificates: [Certificate] { certificateChain.compactMap(Certificate.init(data:)) }

    /// The certificates on the path from the server's to its issuers, each signed by the next, which must be an
    /// authority's. Compare only these with pinned ones: a server may send any other certificate too.
    public var verifiedCertificates: [Certificate] {
        OpenSSLCertificates.path(certificateChain).compactMap(Certificate.init(data:))
    }

    /// Throws unless the chain is trusted: by the session's roots, or only by `anchors`.
    public func performDefaultValidation(anchors: [Certificate]? = nil) throws {
        let result =
            anchors.map { OpenSSLCertificates.verify(certificateChain, anchors: $0.map(\.data)) } ?? verifyResult
        guard result == 0 else {
            throw CurlewError.chainNotTrusted(
                host: host,
                verifyResult: result,
                explanation: OpenSSLCertificates.explanation(result)
            )
        }
    }

    /// Throws unless the server's certificate is valid for `host`.
    public func performValidation(forHost host: String) throws {
        guard let leaf = certificateChain.first,
            OpenSSLCertificates.isMadeOut(leaf, to: Hostname.withoutBrackets(host))
        else {
            throw CurlewError.hostMismatch(host, names: certificates.first?.names ?? [])
        }
    }
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
            throw error.asCurlewError(or: .trustEvaluatorFailed(error))
        }
    }
}

/// The error of an evaluator that refuses every server, because one of its pins is malformed.
private struct MalformedPin: LocalizedError {
    let text: String

    var errorDescription: String? { "The pin \"\(text)\" is not sha256// and the base64 of 32 bytes." }
}
