internal import COpenSSL
public import CurlewCore
internal import Foundation

extension TestServer {
    /// The TLS settings of a server, whose certificate is made when it starts.
    ///
    ///     var configuration = TestServer.Configuration()
    ///     configuration.tls = TestServer.TLS()
    ///     let server = try TestServer(configuration)
    ///     let session = Session(configuration: SessionConfiguration { $0.tls.trustRoots = server.trustRoots })
    ///
    /// The certificate is self-signed, so a client trusts it only if it is given `server.trustRoots`.
    public struct TLS: Sendable, Hashable {
        /// The host names and IPv4 addresses of the certificate. A client that uses another fails with
        /// `.certificateHostMismatch`.
        public var names = ["localhost", "127.0.0.1"]
        /// The start of the certificate's validity, relative to the server's start.
        public var validFrom = Duration.seconds(-3_600)
        /// The end of its validity, relative to the server's start. If negative, a client fails with
        /// `.certificateExpired`.
        public var validUntil = Duration.seconds(30 * 86_400)
        /// The oldest TLS version that the server accepts.
        public var minimumVersion = TLSVersion.v1_2
        /// The newest TLS version that the server accepts.
        public var maximumVersion = TLSVersion.v1_3

        /// Creates the default settings.
        public init() {}
    }

    /// A failure to start a server with TLS.
    public enum TLSFailure: Error, Sendable, Hashable, CustomStringConvertible {
        /// The text is neither a host name nor an IPv4 address that a certificate can hold.
        case invalidName(String)
        /// OpenSSL failed; the text names the step.
        case openSSL(String)

        public var description: String {
            switch self {
            case .invalidName(let name): "'\(name)' is neither a host name nor an IPv4 address"
            case .openSSL(let step): "OpenSSL failed to \(step)"
            }
        }
    }

    /// The trust roots with which a client accepts this server: its certificate, or `.system` without TLS.
    public var trustRoots: TrustRoots { core.identity.map { .pem($0.certificate) } ?? .system }
}

/// A key and its self-signed certificate, both in PEM.
struct ServerIdentity: Sendable {
    let certificate: Data
    let key: Data

    init(_ tls: TestServer.TLS) throws(TestServer.TLSFailure) {
        let names = try tls.names.map(Self.alternativeName).joined(separator: ",")
        let key = try Self.makeKey()
        defer { EVP_PKEY_free(key) }
        guard let certificate = X509_new() else { throw .openSSL("make a certificate") }
        defer { X509_free(certificate) }
        // Serial numbers must differ: browsers reject a second certificate with the issuer and serial of an earlier
        // one.
        let serial = Int.random(in: 1...Int(Int32.max))
        guard X509_set_version(certificate, 2) == 1,
            ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial) == 1,
            X509_gmtime_adj(X509_getm_notBefore(certificate), Int(tls.validFrom.components.seconds)) != nil,
            X509_gmtime_adj(X509_getm_notAfter(certificate), Int(tls.validUntil.components.seconds)) != nil,
            X509_set_pubkey(certificate, key) == 1,
            Self.name(certificate)
        else { throw .openSSL("fill in a certificate") }
        try Self.add(NID_subject_alt_name, names, to: certificate)
        try Self.add(NID_basic_constraints, "critical,CA:TRUE", to: certificate)
        guard X509_sign(certificate, key, EVP_sha256()) > 0 else { throw .openSSL("sign a certificate") }
        self.certificate = try Self.text { PEM_write_bio_X509($0, certificate) }
        self.key = try Self.text { PEM_write_bio_PrivateKey($0, key, nil, nil, 0, nil, nil) }
    }

    /// Returns the subjectAltName entry in the syntax of OpenSSL's configuration. Commas and colons are separators
    /// there, so names that contain them are rejected.
    private static func alternativeName(_ name: String) throws(TestServer.TLSFailure) -> String {
        let isName = name.utf8.allSatisfy { ASCII.isAlpha($0) || ASCII.isDigit($0) || ".-*".utf8.contains($0) }
        guard isName, !name.isEmpty else { throw .invalidName(name) }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        let isAddress = parts.count == 4 && parts.allSatisfy { UInt8($0) != nil }
        return (isAddress ? "IP:" : "DNS:") + name
    }

    private static func makeKey() throws(TestServer.TLSFailure) -> OpaquePointer {
        let context = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nil)
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1,
            EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1) == 1,
            EVP_PKEY_keygen(context, &key) == 1, let key
        else { throw .openSSL("make a key") }
        return key
    }

    private static func name(_ certificate: OpaquePointer) -> Bool {
        let name = X509_get_subject_name(certificate)
        let text = Array("Curlew test server".utf8)
        return X509_NAME_add_entry_by_NID(name, NID_commonName, V_ASN1_UTF8STRING, text, Int32(text.count), -1, 0) == 1
            && X509_set_issuer_name(certificate, name) == 1
    }

    private static func add(
        _ kind: Int32, _ value: String, to certificate: OpaquePointer
    ) throws(TestServer.TLSFailure) {
        var context = X509V3_CTX()
        X509V3_set_ctx(&context, certificate, certificate, nil, nil, 0)
        guard let made = X509V3_EXT_conf_nid(nil, &context, kind, value) else {
            throw .openSSL("make the extension \(value)")
        }
        defer { X509_EXTENSION_free(made) }
        guard X509_add_ext(certificate, made, -1) == 1 else { throw .openSSL("add an extension") }
    }

    private static func text(_ write: (OpaquePointer) -> Int32) throws(TestServer.TLSFailure) -> Data {
        guard let memory = BIO_new(BIO_s_mem()) else { throw .openSSL("take memory") }
        defer { BIO_free(memory) }
        guard write(memory) == 1 else { throw .openSSL("write PEM") }
        var bytes = [UInt8](repeating: 0, count: BIO_ctrl_pending(memory))
        guard BIO_read(memory, &bytes, Int32(bytes.count)) == bytes.count else { throw .openSSL("read PEM") }
        return Data(bytes)
    }
}
