public import Curlew
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
        switch reason {
        case .noRequiredEvaluator(let host): .noTrustEvaluator(for: host)
        case .noCertificatesFound: .noPinnedCertificates
        case .noPublicKeysFound: .noPinnedKeys
        case .defaultEvaluationFailed(let host, let result, let text):
            .chainNotTrusted(host: host, verifyResult: result, explanation: text)
        case .hostValidationFailed(let host, let names): .hostMismatch(host, names: names)
        case .revocationCheckFailed(let host, let result, let text):
            .revocationCheckFailed(host: host, verifyResult: result, explanation: text)
        case .certificatePinningFailed(let host, let pinned, let server):
            .certificateNotPinned(host: host, pinned: pinned, server: server)
        case .publicKeyPinningFailed(let host, let pinned, let server):
            .keyNotPinned(host: host, pinned: pinned, server: server)
        case .customEvaluationFailed(let error): .trustEvaluatorFailed(error)
        }
    }
}

extension CurlewError.ServerTrustFailureReason {
    init?(of error: CurlewError) {
        switch error.detail {
        case .noEvaluator(let host)?: self = .noRequiredEvaluator(host: host)
        case .noPins(let areKeys)?: self = areKeys ? .noPublicKeysFound : .noCertificatesFound
        case .chain(let host, let result, let text, let isRevocation)?:
            self =
                isRevocation
                ? .revocationCheckFailed(host: host, verifyResult: result, explanation: text)
                : .defaultEvaluationFailed(host: host, verifyResult: result, explanation: text)
        case .names(let host, let names)?: self = .hostValidationFailed(host: host, names: names)
        case .pins(let host, let pinned, let server, let areKeys)?:
            self =
                areKeys
                ? .publicKeyPinningFailed(host: host, pinned: pinned, server: server)
                : .certificatePinningFailed(host: host, pinned: pinned, server: server)
        case .custom?: self = .customEvaluationFailed(error: error.thrownError ?? error)
        default: return nil
        }
    }

    var underlyingError: (any Error)? {
        guard case .customEvaluationFailed(let error) = self else { return nil }
        return error
    }
}
