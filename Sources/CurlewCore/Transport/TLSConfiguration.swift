public import Foundation

/// How a connection is secured, and whom it trusts. The default is the system's store, TLS 1.2 and later.
public struct TLSConfiguration: Sendable, Hashable {
    /// The oldest version of TLS that is accepted.
    public var minimumVersion: TLSVersion = .v1_2
    /// The newest version to agree on; nil is the newest that there is.
    public var maximumVersion: TLSVersion?
    /// The certificate authorities that are trusted.
    public var trustRoots: TrustRoots = .system
    /// Which checks the server's certificate must pass.
    public var certificateVerification: CertificateVerification = .full
    /// The certificate with which to answer a server that wants one.
    ///
    /// It is shown once the server's chain has been verified and trust evaluators have accepted it. The server's name is
    /// compared afterwards, by libcurl; behind an https proxy whose certificate is not verified, evaluators too are
    /// asked afterwards. In either case no byte of a request goes out before.
    public var clientIdentity: ClientIdentity?
    /// `sha256//<base64>` of a public key, or the base64 alone; a server must have one of them. Empty: no pinning.
    /// If a pin is malformed, every request fails with `.requestCreationFailed`.
    public var publicKeyPins: [String] = []
    /// OpenSSL's cipher list for TLS 1.2 and earlier.
    public var cipherList: String?
    /// The cipher suites of TLS 1.3, in OpenSSL's notation; nil is its default.
    public var tls13CipherSuites: String?
    /// Whether HTTP versions are negotiated by ALPN.
    public var usesALPN = true
    /// `host:port` → `host:port` to connect to instead; SNI and verification keep the URL's host.
    public var connectTo: [String: String] = [:]
    /// A file with lists of revoked certificates, in PEM.
    public var certificateRevocationList: URL?
    /// Whether the server must staple an OCSP response.
    public var requiresOCSPStapling = false
    /// Appends session secrets for a packet analyser. Never in production.
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

/// Where trusted certificates come from.
public enum TrustRoots: Sendable, Hashable {
    /// Those of the system.
    case system
    /// Certificates in PEM.
    case pem(Data)
    /// A file of certificates in PEM.
    case file(URL)
    /// A directory of certificates as `openssl rehash` arranges them.
    case directory(URL)
}

/// Which checks a server's certificate must pass.
public enum CertificateVerification: Sendable, Hashable {
    /// Chain, validity and host name.
    case full
    /// The chain, not the name.
    case noHostnameVerification
    /// Nothing: an attacker on the path can read and change the traffic.
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

/// Decides about a server's certificates, synchronously and without I/O, on the transport's thread.
package protocol TrustEvaluation: Sendable {
    /// Throws where the server is not to be trusted.
    func evaluate(_ trust: ServerTrust) throws
}

/// The certificates that a server presented, and libcurl's verdict on them.
public struct ServerTrust: Sendable, Hashable {
    /// The host name that the request asked for.
    public let host: String
    /// The certificates in DER, the server's own first.
    public let certificateChain: [Data]
    /// X509_V_OK (0) or OpenSSL's reason why the chain is not trusted.
    public let verifyResult: Int

    /// Creates a value, for tests of evaluators.
    public init(host: String, certificateChain: [Data], verifyResult: Int) {
        self.host = host
        self.certificateChain = certificateChain
        self.verifyResult = verifyResult
    }
}

/// A server whose certificates did not pass: `underlying` of TLS errors that come from libcurl's verification.
public struct UntrustedServer: Error, Sendable, Hashable {
    /// What it showed, and OpenSSL's verdict: 9 not yet valid, 10 expired, 18 self-signed, 19 and 20 an unknown
    /// issuer, 23 revoked, 0 where the chain is trusted but not made out to the host.
    public let trust: ServerTrust

    /// Creates an error for a server that presented these certificates.
    public init(trust: ServerTrust) { self.trust = trust }
}

extension UntrustedServer: CustomStringConvertible {
    /// Host, number of certificates and verdict; the certificates themselves would fill a page.
    public var description: String {
        "\(trust.host) showed \(trust.certificateChain.count) certificates, verify result \(trust.verifyResult)"
    }
}

extension CurlewError {
    /// What the server showed, where its certificates are why the connection was refused.
    public var serverTrust: ServerTrust? { (underlying as? UntrustedServer)?.trust }
}
