internal import CurlewCore
public import Foundation

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
        guard let fields = CertificateFields(der: data) else { return nil }
        self.data = data
        subject = fields.subject
        issuer = fields.issuer
        notValidBefore = fields.notValidBefore
        notValidAfter = fields.notValidAfter
        names = fields.names
        publicKey = PublicKey(data: fields.publicKey)
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
    /// Adds the server's key to the error of libcurl's pinning. libcurl reports the key only in its trace.
    mutating func nameUnpinnedKey() {
        guard isOfUnpinnedKey, let der = serverTrust?.certificateChain.first,
            let certificate = Certificate(data: der)
        else { return }
        reason += " (the server's key: \(certificate.publicKey.pin))"
    }
}
