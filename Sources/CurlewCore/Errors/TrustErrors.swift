package import Foundation

// Errors of trust evaluators. `verifyResult` and `explanation` are OpenSSL's.

extension CurlewError {
    /// Every host must be evaluated, and this one has no evaluator.
    package static func noTrustEvaluator(for host: String) -> CurlewError {
        trust("A trust evaluator is required for host \(host), but there is none.", .noEvaluator(host: host))
    }

    /// The evaluator has no certificates to compare with.
    package static var noPinnedCertificates: CurlewError {
        trust("No certificates were found or provided to evaluate.", .noPins(areKeys: false))
    }

    /// The evaluator has no public keys to compare with.
    package static var noPinnedKeys: CurlewError {
        trust("No public keys were found or provided to evaluate.", .noPins(areKeys: true))
    }

    /// The chain is not trusted.
    package static func chainNotTrusted(host: String, verifyResult: Int, explanation: String) -> CurlewError {
        let code: Code =
            switch verifyResult {
            // X509_V_ERR_CERT_NOT_YET_VALID, _CERT_HAS_EXPIRED and _CERT_REVOKED; see X509_STORE_CTX_get_error(3).
            case 9, 10: .certificateExpired
            case 23: .certificateRevoked
            default: .certificateUntrusted
            }
        return trust(
            "The certificates of \(host) are not trusted: \(explanation) (\(verifyResult)).",
            .chain(host: host, verifyResult: verifyResult, explanation: explanation, isRevocation: false),
            code
        )
    }

    /// The certificate was revoked, or its revocation status could not be determined.
    package static func revocationCheckFailed(host: String, verifyResult: Int, explanation: String) -> CurlewError {
        trust(
            "The certificates of \(host) failed the revocation check: \(explanation) (\(verifyResult)).",
            .chain(host: host, verifyResult: verifyResult, explanation: explanation, isRevocation: true),
            .certificateRevoked
        )
    }

    /// The certificate has no name that matches the host.
    package static func hostMismatch(_ host: String, names: [String]) -> CurlewError {
        trust("The certificate is not valid for \(host).", .names(host: host, names), .certificateHostMismatch)
    }

    /// No certificate of the server is pinned. The certificates are in DER.
    package static func certificateNotPinned(host: String, pinned: [Data], server: [Data]) -> CurlewError {
        trust(
            "No certificate of \(host) is among the pinned ones.",
            .pins(host: host, pinned: pinned, server: server, areKeys: false)
        )
    }

    /// No public key of the server is pinned. The keys are SubjectPublicKeyInfo in DER.
    package static func keyNotPinned(host: String, pinned: [Data], server: [Data]) -> CurlewError {
        trust(
            "No public key of \(host) is among the pinned ones.",
            .pins(host: host, pinned: pinned, server: server, areKeys: true)
        )
    }

    /// An evaluator of the user threw.
    package static func trustEvaluatorFailed(_ error: any Error) -> CurlewError {
        trust("Custom trust evaluation failed with error: \(Explanation.of(error))", .custom, underlying: error)
    }

    private static func trust(
        _ reason: String,
        _ detail: Detail,
        _ code: Code = .certificateUntrusted,
        underlying: (any Error)? = nil
    ) -> CurlewError {
        CurlewError(code, phase: .tls, reason: reason, underlying: underlying, detail: detail)
    }

    /// Whether libcurl reported CURLE_SSL_PINNEDPUBKEYNOTMATCH: the server's key is not among the pinned ones.
    package var isOfUnpinnedKey: Bool { native?.number == 90 }

    /// The suggestion for a key that is not pinned. It must not advise trusting another certificate, which would defeat
    /// the pins.
    package static let pinSuggestion =
        "If the server's owner has changed its key, pin the new one. Otherwise do not connect: it may be an attack."
}
