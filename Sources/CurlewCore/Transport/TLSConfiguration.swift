public import Foundation

/// The security settings of connections. By default, they trust the system's certificates and require TLS 1.2 or later.
public struct TLSConfiguration: Sendable, Hashable {
    /// The oldest acceptable version of TLS.
    public var minimumVersion: TLSVersion = .v1_2
    /// The newest acceptable version of TLS; `nil` sets no limit.
    public var maximumVersion: TLSVersion?
    /// The trusted certificate authorities.
    public var trustRoots: TrustRoots = .system
    /// The checks that the server's certificate must pass.
    public var certificateVerification: CertificateVerification = .full
    /// The certificate with which to answer a server that requests one.
    ///
    /// It is presented only after the server's chain has been verified and trust evaluators have accepted it. libcurl
    /// compares the server's name later; through an https proxy whose certificate is not verified, evaluators are asked
    /// later as well. In either case, no byte of a request is sent before these checks have passed.
    public var clientIdentity: ClientIdentity?
    /// The pinned public keys: `sha256//<base64>`, or the base64 alone. A server must have one of them. If the list is
    /// empty, keys are not pinned. If a pin is malformed, every request fails with `.requestCreationFailed`.
    public var publicKeyPins: [String] = []
    /// The ciphers for TLS 1.2 and earlier, in OpenSSL's notation; `nil` is the default of the TLS library.
    public var cipherList: String?
    /// The cipher suites of TLS 1.3, in OpenSSL's notation; `nil` is the default of the TLS library.
    public var tls13CipherSuites: String?
    /// Whether HTTP versions are negotiated by ALPN.
    public var usesALPN = true
    /// Maps `host:port` to another `host:port` to connect to. SNI and verification use the URL's host.
    public var connectTo: [String: String] = [:]
    /// A file with lists of revoked certificates, in PEM.
    public var certificateRevocationList: URL?
    /// Whether the server must staple an OCSP response.
    public var requiresOCSPStapling = false
    /// A file to which the session secrets are appended, for packet analysers. Never set it in production.
    public var keyLogFile: URL?

    /// Creates the default configuration.
    public init() {}
}

/// A version of TLS.
public enum TLSVersion: Int, Sendable, Hashable, Comparable {
    /// TLS 1.0, which is broken.
    case v1_0
    /// TLS 1.1, which is broken.
    case v1_1
    /// TLS 1.2.
    case v1_2
    /// TLS 1.3.
    case v1_3

    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }
}

/// The source of the trusted certificates.
public enum TrustRoots: Sendable, Hashable {
    /// The system's certificates.
    case system
    /// Certificates in PEM.
    case pem(Data)
    /// A file of certificates in PEM.
    case file(URL)
    /// A directory of certificates as `openssl rehash` arranges them.
    case directory(URL)
}

/// The checks that a server's certificate must pass.
public enum CertificateVerification: Sendable, Hashable {
    /// The chain, the validity and the host name.
    case full
    /// The chain and the validity, but not the host name.
    case noHostnameVerification
    /// No checks: an attacker on the network path can read and change the traffic.
    case none
}

/// A client certificate and its private key.
public enum ClientIdentity: Sendable, Hashable {
    /// Certificate and key in PEM.
    case pem(certificate: Data, key: Data, passphrase: String? = nil)
    /// Two files in PEM.
    case files(certificate: URL, key: URL, passphrase: String? = nil)
    /// Both in one PKCS #12 container.
    case pkcs12(Data, passphrase: String? = nil)
}

/// Decides whether to trust a server. Called in turns of the transport's loop, so it must not block or do I/O.
package protocol TrustEvaluation: Sendable {
    /// Throws if the server is not to be trusted.
    func evaluate(_ trust: ServerTrust) throws
}

/// The certificates that a server presented, and libcurl's verdict on them.
public struct ServerTrust: Sendable, Hashable {
    /// The host name that the request asked for.
    public let host: String
    /// The certificates in DER, beginning with the server's.
    public let certificateChain: [Data]
    /// X509_V_OK (0), or OpenSSL's code for the reason why the chain is not trusted.
    public let verifyResult: Int

    /// Creates a value for tests of evaluators.
    public init(host: String, certificateChain: [Data], verifyResult: Int) {
        self.host = host
        self.certificateChain = certificateChain
        self.verifyResult = verifyResult
    }
}

/// The `underlying` error of a TLS error that libcurl's verification of the server's certificates caused.
package struct UntrustedServer: Error, Sendable, Hashable {
    /// The certificates and OpenSSL's verdict: 9 not yet valid, 10 expired, 18 self-signed, 19 and 20 an unknown
    /// issuer, 23 revoked; 0 if the chain is trusted but the certificate is for another host.
    package let trust: ServerTrust

    package init(trust: ServerTrust) { self.trust = trust }
}

extension UntrustedServer: CustomStringConvertible {
    /// The host, the number of certificates and the verdict. The certificates themselves would fill a page.
    package var description: String {
        "\(trust.host) showed \(trust.certificateChain.count) certificates, verify result \(trust.verifyResult)"
    }
}

extension CurlewError {
    /// The certificates that the server presented; `nil` if they are not the reason for this error.
    public var serverTrust: ServerTrust? { (underlying as? UntrustedServer)?.trust }
}

/// The SHA-256 of a public key, in the textual form of curl and RFC 7469.
package struct PublicKeyPin: Sendable, Hashable {
    private static let prefix = "sha256//"

    /// The 32 bytes of the hash.
    package let digest: Data

    /// Parses `sha256//<base64>`, or the base64 alone, which most tools print; `nil` unless it encodes 32 bytes.
    package init?(_ text: String) {
        let base64 = text.hasPrefix(Self.prefix) ? String(text.dropFirst(Self.prefix.count)) : text
        guard let digest = Data(base64Encoded: base64), digest.count == 32 else { return nil }
        self.digest = digest
    }

    /// The text for libcurl, which would read a text without the prefix as the path of a file.
    package var text: String { Self.prefix + digest.base64EncodedString() }
}
