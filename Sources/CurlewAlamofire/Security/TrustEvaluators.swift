public import Curlew
public import Foundation

/// Demands that every one of its evaluators accepts the server.
public final class CompositeTrustEvaluator: ServerTrustEvaluating {
    private let evaluators: [any ServerTrustEvaluating]

    /// Creates an evaluator that accepts servers that all of these accept.
    public init(evaluators: [any ServerTrustEvaluating]) { self.evaluators = evaluators }

    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        for evaluator in evaluators { try evaluator.evaluate(trust, forHost: host) }
    }
}

// Alamofire's members of the protocol: `evaluators: ["api.example.com": .publicKeys()]`.

extension ServerTrustEvaluating where Self == PinnedCertificatesTrustEvaluator {
    /// Accepts paths with a certificate from the main bundle.
    public static var pinnedCertificates: PinnedCertificatesTrustEvaluator { PinnedCertificatesTrustEvaluator() }

    /// Accepts paths with one of these certificates.
    public static func pinnedCertificates(
        certificates: [Certificate] = Certificate.all(in: .main),
        acceptSelfSignedCertificates: Bool = false,
        performDefaultValidation: Bool = true,
        validateHost: Bool = true
    ) -> PinnedCertificatesTrustEvaluator {
        PinnedCertificatesTrustEvaluator(
            certificates: certificates,
            acceptSelfSignedCertificates: acceptSelfSignedCertificates,
            performDefaultValidation: performDefaultValidation,
            validateHost: validateHost
        )
    }
}

extension ServerTrustEvaluating where Self == PublicKeysTrustEvaluator {
    /// Accepts paths with the key of a certificate from the main bundle.
    public static var publicKeys: PublicKeysTrustEvaluator { PublicKeysTrustEvaluator() }

    /// Accepts paths with one of these keys.
    public static func publicKeys(
        keys: [PublicKey] = Certificate.all(in: .main).map(\.publicKey),
        performDefaultValidation: Bool = true,
        validateHost: Bool = true
    ) -> PublicKeysTrustEvaluator {
        PublicKeysTrustEvaluator(
            keys: keys,
            performDefaultValidation: performDefaultValidation,
            validateHost: validateHost
        )
    }
}

extension ServerTrustEvaluating where Self == CompositeTrustEvaluator {
    /// Accepts servers that all of these evaluators accept.
    public static func composite(evaluators: [any ServerTrustEvaluating]) -> CompositeTrustEvaluator {
        CompositeTrustEvaluator(evaluators: evaluators)
    }
}
