internal import CurlewCore

/// Classifies failures to secure a connection for a libcurl with GnuTLS.
enum GnuTLSFailure {
    /// The verdict on a certificate chain, from the bits of `gnutls_certificate_status_t`; `nil` if they only say that
    /// the chain is not trusted. libcurl's text omits most of this.
    static func verdict(_ bits: Int) -> (code: CurlewError.Code, words: String)? {
        if bits & 1 << 5 != 0 { return (.certificateRevoked, "certificate revoked") }
        if bits & 1 << 10 != 0 { return (.certificateExpired, "certificate has expired") }
        if bits & 1 << 9 != 0 { return (.certificateExpired, "certificate is not yet valid") }
        if bits & 1 << 8 != 0 { return (.certificateUntrusted, "certificate uses an insecure algorithm") }
        return nil
    }

    /// Whether the chain was refused.
    static func isRefused(_ bits: Int) -> Bool { bits & 1 << 1 != 0 }

    /// libcurl's text with GnuTLS's verdict in place of "no details".
    static func text(_ text: String, _ bits: Int) -> String {
        guard let verdict = verdict(bits) else { return text }
        return text.replacing("certificate error, no details available", with: verdict.words)
    }

    private static let handshakeAlert = "GnuTLS, handshake failed: "
    /// GnuTLS's names of the alerts by which a server refuses the client's certificate, or requires one.
    private static let refusals = [
        "Certificate is bad", "Certificate is not supported", "Certificate was revoked", "Certificate is expired",
        "Unknown certificate", "CA is unknown", "Certificate is required",
    ]

    /// The code for an alert of the server; `nil` if the text names none. libcurl names no alert after the handshake,
    /// and hence none of a client certificate over TLS 1.3.
    static func alert(_ text: String) -> CurlewError.Code? {
        guard text.hasPrefix(handshakeAlert) else { return nil }
        return refusals.contains(String(text.dropFirst(handshakeAlert.count))) ? .clientCertificateRequired : .tlsFailed
    }
}
