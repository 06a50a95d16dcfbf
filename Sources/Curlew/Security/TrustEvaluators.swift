public import CurlewCore
public import Foundation

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

/// The error of an evaluator that refuses every server, because one of its pins is malformed.
private struct MalformedPin: LocalizedError {
    let text: String

    var errorDescription: String? { "The pin \"\(text)\" is not sha256// and the base64 of 32 bytes." }
}

/// Accepts every server: an attacker on the path can read and change the traffic. Never use it in production.
public final class DisabledTrustEvaluator: ServerTrustEvaluating {
    /// Creates an evaluator that accepts everything: for tests only.
    public init() {}

    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {}
}
