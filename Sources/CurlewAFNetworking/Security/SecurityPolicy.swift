public import Curlew
public import Foundation

/// AFNetworking's rules for trusting a server, made of Curlew's trust evaluators.
///
///     let policy = SecurityPolicy(pinning: .publicKey, certificates: Certificate.all(in: pem))
///     let session = Session(serverTrustManager: policy.serverTrustManager)
///
/// - `none`: the server's chain must be valid, unless invalid certificates are allowed.
/// - `certificate`: the pinned certificates are the only roots, and one of them must be in the chain.
/// - `publicKey`: a certificate of the chain must have the key of a pinned one.
///
/// If `allowInvalidCertificates` is false, the system must trust the chain as well, in every mode. A policy that
/// accepts any certificate but checks the name in it is refused, because it would prove nothing.
public struct SecurityPolicy: ServerTrustEvaluating, Hashable {
    /// The part of a server's certificates that is compared with the pinned ones.
    public enum PinningMode: Sendable, Hashable {
        /// Nothing is pinned: the system's trust decides.
        case none
        /// The public keys are compared.
        case publicKey
        /// The whole certificates are compared.
        case certificate
    }

    /// The part of a server's certificates that is compared with the pinned ones.
    public var pinningMode: PinningMode
    /// The certificates that a server's certificates are compared with.
    public var pinnedCertificates: Set<Certificate>
    /// Whether chains that the system does not trust are accepted.
    public var allowInvalidCertificates = false
    /// Whether the certificate must be valid for the host's name.
    public var validatesDomainName = true

    /// A policy that trusts the chains that the system trusts.
    public static var `default`: SecurityPolicy { SecurityPolicy() }

    /// Creates a policy with a pinning mode and pinned certificates.
    public init(pinning mode: PinningMode = .none, certificates: some Sequence<Certificate> = []) {
        pinningMode = mode
        pinnedCertificates = Set(certificates)
    }

    /// Returns the certificates in a directory's files `*.cer`, `*.crt`, `*.der` and `*.pem`.
    public static func certificates(in directory: URL) throws -> Set<Certificate> {
        let files = try FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil)
        let kinds: Set<String> = ["cer", "crt", "der", "pem"]
        return try files.filter { kinds.contains($0.pathExtension.lowercased()) }
            .reduce(into: []) { $0.formUnion(Certificate.all(in: try Data(contentsOf: $1))) }
    }

    /// A manager that applies the policy to every host of a session.
    public var serverTrustManager: ServerTrustManager { ServerTrustManager(forAllHosts: self) }

    /// Whether certificates are pinned. A request without `https` has no certificate to compare.
    var needsTLS: Bool { pinningMode != .none }

    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        for evaluator in try evaluators() { try evaluator.evaluate(trust, forHost: host) }
    }

    private func evaluators() throws -> [any ServerTrustEvaluating] {
        if allowInvalidCertificates, validatesDomainName, pinningMode == .none || pinnedCertificates.isEmpty {
            throw CurlewError.trustEvaluatorFailed(NeedsPinning())
        }
        let system: [any ServerTrustEvaluating] =
            allowInvalidCertificates ? [] : [DefaultTrustEvaluator(validateHost: validatesDomainName)]
        switch pinningMode {
        case .none: return system
        case .certificate:
            return system + [AnchoredTrust(anchors: pinnedCertificates, validateHost: validatesDomainName)]
        case .publicKey:
            let pinned = PublicKeysTrustEvaluator(
                keys: pinnedCertificates.map(\.publicKey),
                performDefaultValidation: false,
                validateHost: validatesDomainName
            )
            return system + [pinned]
        }
    }

    /// "In order to validate a domain name for self signed certificates, you MUST use pinning."
    private struct NeedsPinning: Error {}
}

/// Demands a chain that ends in one of the pinned certificates, even if the server does not send that certificate.
private struct AnchoredTrust: ServerTrustEvaluating {
    let anchors: Set<Certificate>
    let validateHost: Bool

    func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        guard !anchors.isEmpty else { throw CurlewError.noPinnedCertificates }
        try trust.performDefaultValidation(anchors: Array(anchors))
        if validateHost { try trust.performValidation(forHost: host) }
    }
}
