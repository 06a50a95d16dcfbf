public import Curlew
public import Foundation

/// Refuses certificates that their issuers have revoked, according to lists that you provide.
///
/// The evaluator does no I/O: it fetches neither lists nor OCSP responses. To demand stapled OCSP responses, set
/// `TLSConfiguration.requiresOCSPStapling`.
public final class RevocationTrustEvaluator: ServerTrustEvaluating {
    /// Alamofire's options. Those about the network and OCSP are accepted and have no effect.
    public struct Options: OptionSet, Sendable {
        /// Has no effect: the lists are always used.
        public static let crl = Options(rawValue: 1 << 0)
        /// Has no effect: nothing is ever fetched.
        public static let networkAccessDisabled = Options(rawValue: 1 << 1)
        /// Has no effect: no responder is asked.
        public static let ocsp = Options(rawValue: 1 << 2)
        /// Has no effect: there are only lists.
        public static let preferCRL = Options(rawValue: 1 << 3)
        /// Every certificate whose issuer is in the server's path must be covered by a list that is in force. A path
        /// without an issuer is refused.
        public static let requirePositiveResponse = Options(rawValue: 1 << 4)
        /// The default.
        public static let any: Options = [.crl, .ocsp]

        public let rawValue: Int

        public init(rawValue: Int) { self.rawValue = rawValue }
    }

    private let performDefaultValidation: Bool
    private let validateHost: Bool
    private let options: Options
    private let lists: [Data]

    /// Creates an evaluator with revocation lists in DER. Without lists, it only refuses what libcurl's verification
    /// has found revoked.
    public init(
        performDefaultValidation: Bool = true,
        validateHost: Bool = true,
        options: Options = .any,
        revocationLists: [Data] = []
    ) {
        self.performDefaultValidation = performDefaultValidation
        self.validateHost = validateHost
        self.options = options
        lists = revocationLists
    }

    public func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        if performDefaultValidation { try trust.performDefaultValidation() }
        if validateHost { try trust.performValidation(forHost: host) }
        // X509_V_ERR_CERT_REVOKED and X509_V_ERR_UNABLE_TO_GET_CRL, see X509_STORE_CTX_get_error(3).
        if trust.verifyResult == 23 { throw refusal(host, 23) }
        switch OpenSSLRevocation.answer(OpenSSLCertificates.path(trust.certificateChain), lists: lists) {
        case .revoked: throw refusal(host, 23)
        case .unknown: if options.contains(.requirePositiveResponse) { throw refusal(host, 3) }
        case .good: break
        }
    }

    private func refusal(_ host: String, _ verifyResult: Int) -> CurlewError {
        .revocationCheckFailed(
            host: host,
            verifyResult: verifyResult,
            explanation: OpenSSLCertificates.explanation(verifyResult)
        )
    }
}

extension ServerTrustEvaluating where Self == RevocationTrustEvaluator {
    /// Refuses certificates that libcurl's verification has found revoked. It has no lists.
    public static var revocationChecking: RevocationTrustEvaluator { RevocationTrustEvaluator() }

    /// Refuses certificates that the given lists revoke.
    public static func revocationChecking(
        performDefaultValidation: Bool = true,
        validateHost: Bool = true,
        options: RevocationTrustEvaluator.Options = .any,
        revocationLists: [Data] = []
    ) -> RevocationTrustEvaluator {
        RevocationTrustEvaluator(
            performDefaultValidation: performDefaultValidation,
            validateHost: validateHost,
            options: options,
            revocationLists: revocationLists
        )
    }
}
