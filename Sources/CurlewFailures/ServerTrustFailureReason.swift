public import CurlewCore
public import Foundation

extension CurlewError {
    /// The reason that a server was not trusted; `underlying` of `.certificateUntrusted`, `.certificateHostMismatch`,
    /// `.certificateExpired` and `.certificateRevoked`.
    public enum ServerTrustFailureReason: Error {
        /// Every host must be evaluated, and this one has no evaluator.
        case noRequiredEvaluator(host: String)
        /// The evaluator has no certificates to compare with.
        case noCertificatesFound
        /// The evaluator has no public keys to compare with.
        case noPublicKeysFound
        /// The chain is not trusted; `verifyResult` and `explanation` are OpenSSL's.
        case defaultEvaluationFailed(host: String, verifyResult: Int, explanation: String)
        /// The certificate has no name that matches the host.
        case hostValidationFailed(host: String, names: [String])
        /// The certificate was revoked, or its revocation status could not be determined.
        case revocationCheckFailed(host: String, verifyResult: Int, explanation: String)
        /// No certificate of the server is pinned. The certificates are in DER.
        case certificatePinningFailed(host: String, pinned: [Data], server: [Data])
        /// No public key of the server is pinned. The keys are SubjectPublicKeyInfo in DER.
        case publicKeyPinningFailed(host: String, pinned: [Data], server: [Data])
        /// A custom evaluator rejected the server.
        case customEvaluationFailed(error: any Error)
    }

    /// The error of a trust evaluator, as Alamofire writes it.
    public static func serverTrustEvaluationFailed(reason: ServerTrustFailureReason) -> CurlewError {
        CurlewError(reason.code, phase: .tls, reason: reason.explanation, underlying: reason)
    }
}

extension CurlewError.ServerTrustFailureReason {
    var code: CurlewError.Code {
        switch self {
        case .hostValidationFailed: .certificateHostMismatch
        case .revocationCheckFailed: .certificateRevoked
        // 9 is X509_V_ERR_CERT_NOT_YET_VALID, 10 _CERT_HAS_EXPIRED and 23 _CERT_REVOKED; see
        // X509_STORE_CTX_get_error(3).
        case .defaultEvaluationFailed(_, 9, _), .defaultEvaluationFailed(_, 10, _): .certificateExpired
        case .defaultEvaluationFailed(_, 23, _): .certificateRevoked
        case .noRequiredEvaluator, .noCertificatesFound, .noPublicKeysFound, .defaultEvaluationFailed,
            .certificatePinningFailed, .publicKeyPinningFailed, .customEvaluationFailed:
            .certificateUntrusted
        }
    }

    var explanation: String {
        switch self {
        case .noRequiredEvaluator(let host): "A trust evaluator is required for host \(host), but there is none."
        case .noCertificatesFound: "No certificates were found or provided to evaluate."
        case .noPublicKeysFound: "No public keys were found or provided to evaluate."
        case .defaultEvaluationFailed(let host, let result, let text):
            "The certificates of \(host) are not trusted: \(text) (\(result))."
        case .hostValidationFailed(let host, _): "The certificate is not made out to \(host)."
        case .revocationCheckFailed(let host, let result, let text):
            "The certificates of \(host) failed the revocation check: \(text) (\(result))."
        case .certificatePinningFailed(let host, _, _): "No certificate of \(host) is among the pinned ones."
        case .publicKeyPinningFailed(let host, _, _): "No public key of \(host) is among the pinned ones."
        case .customEvaluationFailed(let error): "Custom trust evaluation failed with error: \(Explanation.of(error))"
        }
    }

    package var underlyingError: (any Error)? {
        guard case .customEvaluationFailed(let error) = self else { return nil }
        return error
    }
}
