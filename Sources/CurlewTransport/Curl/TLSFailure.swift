internal import CCurl
internal import CurlewCore

/// Classifies failures to secure a connection.
enum TLSFailure {
    /// The code for a certificate chain that was refused. The text is checked first, because the verify result alone
    /// does not always identify a wrong name.
    static func code(of handle: UnsafeMutableRawPointer, _ text: String, isGnuTLS: Bool) -> CurlewError.Code {
        if text.contains("target host name") || text.contains("target hostname") || text.contains("target ip") {
            return .certificateHostMismatch
        }
        let result = curlew_get_long(handle, CURLINFO_SSL_VERIFYRESULT)
        if isGnuTLS { return GnuTLSFailure.verdict(result)?.code ?? .certificateUntrusted }
        // X509_V_ERR_* of x509_vfy.h.
        switch result {
        case 9, 10: return .certificateExpired
        case 23: return .certificateRevoked
        case 62, 64: return .certificateHostMismatch
        default:
            // Newer versions put the result into the text and do not keep it.
            if text.contains("has expired") || text.contains("not yet valid") { return .certificateExpired }
            if text.contains("revoked") { return .certificateRevoked }
            return .certificateUntrusted
        }
    }

    /// Whether an alert after the handshake is about the client's certificate (RFC 8446, 6.2).
    ///
    /// Over TLS 1.3 a client is connected before the server has checked its certificate. If the server closes the
    /// connection before the request is sent, sending fails, and libcurl reads the alert only when it closes the
    /// connection.
    static func isAboutCertificate(alert: Int32) -> Bool { certificateAlerts.contains { $0.number == alert } }

    /// The alerts by which a server refuses the client's certificate, or requires one, and OpenSSL's names for them.
    private static let certificateAlerts: [(number: Int32, name: String)] = [
        (42, "bad certificate"), (43, "unsupported certificate"), (44, "certificate revoked"),
        (45, "certificate expired"), (46, "certificate unknown"), (48, "unknown ca"), (116, "certificate required"),
    ]

    /// Whether the peer sent no TLS records: the server speaks HTTP, or another protocol, on this port.
    static func isOfPlainPeer(_ text: String) -> Bool {
        // The texts of OpenSSL up to 3.1, of OpenSSL from 3.2 on, and of GnuTLS.
        text.contains("wrong version number") || text.contains("packet length too long")
            || text.contains("An unexpected TLS packet was received")
    }

    /// Whether the server speaks none of the application protocols that TLS offered. There is no number for this alert.
    static func isOfProtocol(_ text: String) -> Bool { text.lowercased().contains("application protocol") }

    /// The code for an alert of the peer, or for an expired certificate, that the text names; `nil` if it names none.
    static func alert(_ text: String) -> CurlewError.Code? {
        if certificateAlerts.contains(where: { text.contains("alert " + $0.name) }) {
            return .clientCertificateRequired
        }
        if text.contains("certificate has expired") { return .certificateExpired }
        return GnuTLSFailure.alert(text) ?? (text.contains(" alert ") ? .tlsFailed : nil)
    }
}

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
    /// and hence none about a client certificate over TLS 1.3.
    static func alert(_ text: String) -> CurlewError.Code? {
        guard text.hasPrefix(handshakeAlert) else { return nil }
        return refusals.contains(String(text.dropFirst(handshakeAlert.count))) ? .clientCertificateRequired : .tlsFailed
    }
}
