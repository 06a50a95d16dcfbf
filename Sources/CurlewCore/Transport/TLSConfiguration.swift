public import Foundation

/// How a connection is secured, and whom it trusts. The default is the system's store, TLS 1.2 and later.
public struct TLSConfiguration: Sendable, Hashable {
    public var minimumVersion: TLSVersion = .v1_2
    public var maximumVersion: TLSVersion?
    public var trustRoots: TrustRoots = .system
    public var certificateVerification: CertificateVerification = .full
    public var clientIdentity: ClientIdentity?
    /// `sha256//<base64>` of a public key; a server must have one of them. Empty: no pinning.
    public var publicKeyPins: [String] = []
    /// OpenSSL's cipher list for TLS 1.2 and earlier.
    public var cipherList: String?
    public var tls13CipherSuites: String?
    /// Whether HTTP versions are negotiated by ALPN.
    public var usesALPN = true
    /// `host:port` → `host:port` to connect to instead; SNI and verification keep the URL's host.
    public var connectTo: [String: String] = [:]
    public var certificateRevocationList: URL?
    /// Demands a stapled OCSP answer.
    public var requiresOCSPStapling = false
    /// Appends session secrets for a packet analyser. Never in production.
    public var keyLogFile: URL?

    public init() {}
}

public enum TLSVersion: Int, Sendable, Hashable, Comparable {
    case v1_0, v1_1, v1_2, v1_3

    public static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }
}

public enum TrustRoots: Sendable, Hashable {
    case system
    case pem(Data)
    case file(URL)
    case directory(URL)
}

public enum CertificateVerification: Sendable, Hashable {
    case full
    /// The chain, not the name.
    case noHostnameVerification
    /// Nothing: anybody can read and change the traffic.
    case none
}

public enum ClientIdentity: Sendable, Hashable {
    case pem(certificate: Data, key: Data, passphrase: String? = nil)
    case files(certificate: URL, key: URL, passphrase: String? = nil)
    case pkcs12(Data, passphrase: String? = nil)
}

/// Decides about a server's certificates, synchronously and without I/O, on the transport's thread.
public protocol TrustEvaluation: Sendable {
    func evaluate(_ trust: ServerTrust) throws
}

/// What a server showed to prove who it is.
public struct ServerTrust: Sendable, Hashable {
    public let host: String
    /// Certificates in DER, the server's own first.
    public let certificateChain: [Data]
    /// X509_V_OK (0) or OpenSSL's reason why the chain is not trusted.
    public let verifyResult: Int

    public init(host: String, certificateChain: [Data], verifyResult: Int) {
        self.host = host
        self.certificateChain = certificateChain
        self.verifyResult = verifyResult
    }
}
