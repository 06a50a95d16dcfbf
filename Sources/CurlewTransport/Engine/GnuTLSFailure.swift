internal import CurlewCore

/// What a libcurl with GnuTLS tells of a connection that could not be made secure.
enum GnuTLSFailure {
    /// What is wrong with a chain, of `gnutls_certificate_status_t`'s bits; nil where they say no more than that it
    /// is not trusted. libcurl's words leave most of it out.
    static func verdict(_ bits: Int) -> (code: CurlewError.Code, words: String)? {
        if bits & 1 << 5 != 0 { return (.certificateRevoked, "certificate revoked") }
        if bits & 1 << 10 != 0 { return (.certificateExpired, "certificate has expired") }
        if bits & 1 << 9 != 0 { return (.certificateExpired, "certificate is not yet valid") }
        if bits & 1 << 8 != 0 { return (.certificateUntrusted, "certificate uses an insecure algorithm") }
        return nil
    }

    /// Whether a chain was refused.
    static func isRefused(_ bits: Int) -> Bool { bits & 1 << 1 != 0 }

    /// libcurl's text with GnuTLS's verdict in the place of "no details".
    static func text(_ text: String, _ bits: Int) -> String {
        guard let verdict = verdict(bits) else { return text }
        return text.replacing("certificate error, no details available", with: verdict.words)
    }

    private static let handshakeAlert = "GnuTLS, handshake failed: "
    /// GnuTLS's names of the alerts with which a server refuses what the client showed, or that it showed nothing.
    private static let refusals = [
        "Certificate is bad", "Certificate is not supported", "Certificate was revoked", "Certificate is expired",
        "Unknown certificate", "CA is unknown", "Certificate is required",
    ]

    /// An alert of the server. After the handshake, and so over TLS 1.3, its name is not told.
    static func alert(_ text: String) -> CurlewError.Code? {
        guard text.hasPrefix(handshakeAlert) else { return nil }
        return refusals.contains(String(text.dropFirst(handshakeAlert.count))) ? .clientCertificateRequired : .tlsFailed
    }
}
