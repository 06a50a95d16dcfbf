internal import COpenSSL
internal import CurlewCore
public import Foundation
internal import Glibc

/// An X.509 certificate, parsed when it is created.
public struct Certificate: Sendable, Hashable {
    /// The certificate in DER.
    public let data: Data
    /// The subject in OpenSSL's one-line form: `/C=…/O=…/CN=…`.
    public let subject: String
    /// The issuer in OpenSSL's one-line form.
    public let issuer: String
    /// The beginning of the certificate's validity.
    public let notValidBefore: Date
    /// The end of the certificate's validity.
    public let notValidAfter: Date
    /// The DNS names and IP addresses that the certificate is valid for.
    public let names: [String]
    /// The public key of the certificate.
    public let publicKey: PublicKey

    /// Parses a certificate in DER; `nil` if `data` is not one.
    public init?(data: Data) {
        guard let certificate = OpenSSLCertificate(der: data), let key = certificate.publicKey,
            let before = certificate.notBefore, let after = certificate.notAfter
        else { return nil }
        self.data = data
        subject = certificate.subject
        issuer = certificate.issuer
        notValidBefore = before
        notValidAfter = after
        names = certificate.alternativeNames
        publicKey = PublicKey(data: key)
    }

    /// Returns the certificates of a PEM text, or the one of a DER file.
    public static func all(in data: Data) -> [Certificate] {
        if let single = Certificate(data: data) { return [single] }
        let text = String(decoding: data, as: UTF8.self)
        return text.components(separatedBy: "-----BEGIN CERTIFICATE-----").dropFirst().compactMap { block in
            let base64 = block.components(separatedBy: "-----END CERTIFICATE-----").first ?? ""
            return Data(base64Encoded: base64, options: .ignoreUnknownCharacters).flatMap(Certificate.init(data:))
        }
    }

    /// Returns the certificates among a bundle's resources: `.cer`, `.crt`, `.der`.
    public static func all(in bundle: Bundle) -> [Certificate] {
        let endings = ["cer", "CER", "crt", "CRT", "der", "DER"]
        return endings.flatMap { bundle.paths(forResourcesOfType: $0, inDirectory: nil) }
            .sorted()
            .compactMap { try? Data(contentsOf: URL(fileURLWithPath: $0)) }
            .flatMap(Certificate.all(in:))
    }
}

/// The public key of a certificate.
public struct PublicKey: Sendable, Hashable {
    /// The SubjectPublicKeyInfo in DER.
    public let data: Data

    /// Creates a key from a SubjectPublicKeyInfo in DER.
    public init(data: Data) { self.data = data }

    /// The SHA-256 of the key, which is its pin according to RFC 7469.
    public var sha256: Data { OpenSSLCertificates.sha256(data) }

    /// The pin in the form of curl and `TLSConfiguration.publicKeyPins`: `sha256//<base64>`.
    public var pin: String { "sha256//\(sha256.base64EncodedString())" }
}

extension CurlewError {
    /// Adds the server's key to a pinning error. libcurl reports the key only in its trace.
    mutating func nameUnpinnedKey() {
        guard isOfUnpinnedKey, let der = serverTrust?.certificateChain.first,
            let certificate = Certificate(data: der)
        else { return }
        reason += " (the server's key: \(certificate.publicKey.pin))"
    }
}

// The only file that uses OpenSSL's certificates. See d2i_X509(3), X509_check_host(3), X509_verify_cert(3).

/// Owns an OpenSSL certificate.
private final class OpenSSLCertificate {
    let pointer: OpaquePointer

    init?(der: Data) {
        let pointer: OpaquePointer? = der.withUnsafeBytes { bytes in
            var cursor = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
            let parsed = d2i_X509(nil, &cursor, bytes.count)
            // Data that continues after the certificate is not just a certificate.
            if let parsed, cursor != bytes.baseAddress?.assumingMemoryBound(to: UInt8.self).advanced(by: bytes.count) {
                X509_free(parsed)
                return nil
            }
            return parsed
        }
        guard let pointer else { return nil }
        self.pointer = pointer
    }

    deinit { X509_free(pointer) }

    /// Whether `issuer` has signed this certificate and is an authority. Otherwise a server could sign a certificate
    /// for any name with the key of the one that it has.
    func isSigned(by issuer: OpenSSLCertificate) -> Bool {
        X509_check_ca(issuer.pointer) != 0
            && X509_NAME_cmp(X509_get_issuer_name(pointer), X509_get_subject_name(issuer.pointer)) == 0
            && X509_get0_pubkey(issuer.pointer).map { X509_verify(pointer, $0) == 1 } ?? false
    }

    /// Whether the certificate is valid for `host`, a name or an address without brackets.
    func isMadeOut(to host: String) -> Bool {
        if X509_check_ip_asc(pointer, host, 0) == 1 { return true }
        return X509_check_host(pointer, host, host.utf8.count, 0, nil) == 1
    }
}

// The fields of a `Certificate`.
extension OpenSSLCertificate {
    var subject: String { Self.text(of: X509_get_subject_name(pointer)) }
    var issuer: String { Self.text(of: X509_get_issuer_name(pointer)) }
    var notBefore: Date? { Self.date(X509_get0_notBefore(pointer)) }
    var notAfter: Date? { Self.date(X509_get0_notAfter(pointer)) }

    /// The SubjectPublicKeyInfo in DER.
    var publicKey: Data? {
        guard let key = X509_get_X509_PUBKEY(pointer) else { return nil }
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = i2d_X509_PUBKEY(key, &bytes)
        guard count > 0, let bytes else { return Data() }
        defer { CRYPTO_free(bytes, #file, #line) }
        return Data(bytes: bytes, count: Int(count))
    }

    /// The DNS names and IP addresses that the certificate is valid for.
    var alternativeNames: [String] {
        guard let stack = X509_get_ext_d2i(pointer, NID_subject_alt_name, nil, nil) else { return [] }
        let names = OpaquePointer(stack)
        defer { GENERAL_NAMES_free(names) }
        return (0..<OPENSSL_sk_num(names)).compactMap { index in
            guard let element = OPENSSL_sk_value(names, index) else { return nil }
            let name = element.assumingMemoryBound(to: GENERAL_NAME.self).pointee
            switch name.type {
            case GEN_DNS: return Self.bytes(name.d.dNSName).map { String(decoding: $0, as: UTF8.self) }
            case GEN_IPADD: return Self.bytes(name.d.iPAddress).flatMap(Self.address)
            default: return nil
            }
        }
    }

    private static func text(of name: OpaquePointer?) -> String {
        guard let name, let text = X509_NAME_oneline(name, nil, 0) else { return "" }
        defer { CRYPTO_free(text, #file, #line) }
        return String(cString: text)
    }

    private static func date(_ time: UnsafePointer<ASN1_TIME>?) -> Date? {
        var fields = tm()
        guard let time, ASN1_TIME_to_tm(time, &fields) == 1 else { return nil }
        return Date(timeIntervalSince1970: TimeInterval(timegm(&fields)))
    }

    private static func bytes(_ string: UnsafeMutablePointer<ASN1_STRING>?) -> Data? {
        guard let string, let start = ASN1_STRING_get0_data(string) else { return nil }
        return Data(bytes: start, count: Int(ASN1_STRING_length(string)))
    }

    private static func address(_ bytes: Data) -> String? {
        let family = bytes.count == 4 ? AF_INET : bytes.count == 16 ? AF_INET6 : 0
        guard family != 0 else { return nil }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let shown = bytes.withUnsafeBytes { inet_ntop(family, $0.baseAddress, &text, socklen_t(text.count)) }
        return shown.map { String(cString: $0) }
    }
}

/// The functions for trust evaluators.
package enum OpenSSLCertificates {
    /// The path from the server's certificate to its issuers, each signed by the next, which must be an authority's. A
    /// server may send other certificates too: they prove nothing and are left out.
    package static func path(_ chain: [Data]) -> [Data] {
        var rest = chain.compactMap { der in OpenSSLCertificate(der: der).map { (der, $0) } }
        guard !rest.isEmpty, chain.first == rest.first?.0 else { return [] }
        var path = [rest.removeFirst()]
        while let last = path.last, let index = rest.firstIndex(where: { last.1.isSigned(by: $0.1) }) {
            path.append(rest.remove(at: index))
        }
        return path.map(\.0)
    }

    /// Returns X509_V_OK, or the error if `chain` does not lead to one of `anchors`.
    static func verify(_ chain: [Data], anchors: [Data]) -> Int {
        let others = chain.dropFirst().compactMap(OpenSSLCertificate.init(der:))
        guard let leaf = chain.first.flatMap(OpenSSLCertificate.init(der:)), let store = X509_STORE_new(),
            let context = X509_STORE_CTX_new(), let stack = OPENSSL_sk_new_null()
        else { return Int(X509_V_ERR_UNSPECIFIED) }
        defer {
            X509_STORE_CTX_free(context)
            X509_STORE_free(store)
            OPENSSL_sk_free(stack)
        }
        for anchor in anchors.compactMap(OpenSSLCertificate.init(der:)) { X509_STORE_add_cert(store, anchor.pointer) }
        // A pinned certificate is an anchor even if it is not self-signed.
        X509_STORE_set_flags(store, UInt(X509_V_FLAG_PARTIAL_CHAIN))
        return withExtendedLifetime(others) {
            for other in others { OPENSSL_sk_push(stack, UnsafeRawPointer(other.pointer)) }
            guard X509_STORE_CTX_init(context, store, leaf.pointer, stack) == 1 else {
                return Int(X509_V_ERR_UNSPECIFIED)
            }
            X509_STORE_CTX_set_default(context, "ssl_server")
            return X509_verify_cert(context) == 1 ? 0 : Int(X509_STORE_CTX_get_error(context))
        }
    }

    static func isMadeOut(_ certificate: Data, to host: String) -> Bool {
        OpenSSLCertificate(der: certificate)?.isMadeOut(to: host) ?? false
    }

    package static func explanation(_ verifyResult: Int) -> String {
        String(cString: X509_verify_cert_error_string(verifyResult))
    }

    static func sha256(_ data: Data) -> Data {
        var digest = [UInt8](repeating: 0, count: 32)
        var count: UInt32 = 0
        let code = data.withUnsafeBytes {
            EVP_Digest($0.baseAddress, $0.count, &digest, &count, EVP_sha256(), nil)
        }
        return code == 1 ? Data(digest.prefix(Int(count))) : Data()
    }
}

/// Checks a path against revocation lists. See X509_CRL_get0_by_cert(3).
package enum OpenSSLRevocation {
    package enum Answer: Equatable {
        case revoked
        /// Every certificate with an issuer in the path is covered by a list that is in force.
        case good
        /// Some certificate is not covered by a list, or the path has no issuer.
        case unknown
    }

    /// `path` is a result of `OpenSSLCertificates.path`; `lists` are in DER. Only lists that the issuer has signed are
    /// considered.
    package static func answer(_ path: [Data], lists: [Data]) -> Answer {
        let certificates = path.compactMap(OpenSSLCertificate.init(der:))
        let parsed = lists.compactMap(List.init(der:))
        var isKnown = certificates.count > 1
        for (certificate, issuer) in zip(certificates, certificates.dropFirst()) {
            let own = parsed.filter { $0.isSigned(by: issuer) }
            if own.contains(where: { $0.revokes(certificate) }) { return .revoked }
            if !own.contains(where: \.isInForce) { isKnown = false }
        }
        return isKnown ? .good : .unknown
    }

    private final class List {
        let pointer: OpaquePointer

        init?(der: Data) {
            let parsed: OpaquePointer? = der.withUnsafeBytes { bytes in
                var cursor = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
                return d2i_X509_CRL(nil, &cursor, bytes.count)
            }
            guard let parsed else { return nil }
            pointer = parsed
        }

        deinit { X509_CRL_free(pointer) }

        var isInForce: Bool { X509_CRL_get0_nextUpdate(pointer).map { X509_cmp_current_time($0) > 0 } ?? true }

        func isSigned(by issuer: OpenSSLCertificate) -> Bool {
            X509_NAME_cmp(X509_CRL_get_issuer(pointer), X509_get_subject_name(issuer.pointer)) == 0
                && X509_get0_pubkey(issuer.pointer).map { X509_CRL_verify(pointer, $0) == 1 } ?? false
        }

        func revokes(_ certificate: OpenSSLCertificate) -> Bool {
            var entry: OpaquePointer?
            // The result 2 is an entry that withdraws an earlier revocation.
            return X509_CRL_get0_by_cert(pointer, &entry, certificate.pointer) == 1
        }
    }
}
