internal import CCurl
internal import CurlewCore

/// Why a connection could not be made secure.
enum TLSFailure {
    /// A chain that did not pass. The verify result of a wrong name is not zero either: the text tells.
    static func code(of handle: UnsafeMutableRawPointer, _ text: String, isGnuTLS: Bool) -> CurlewError.Code {
        if text.contains("target host name") || text.contains("target hostname") || text.contains("target ip") {
            return .certificateHostMismatch
        }
        let result = curlew_get_long(handle, CURLINFO_SSL_VERIFYRESULT)
        if isGnuTLS { return GnuTLSFailure.verdict(result)?.code ?? .certificateUntrusted }
        // x509_vfy.h: X509_V_ERR_*.
        switch result {
        case 9, 10: return .certificateExpired
        case 23: return .certificateRevoked
        case 62, 64: return .certificateHostMismatch
        default:
            // Newer versions word the result instead of keeping it.
            if text.contains("has expired") || text.contains("not yet valid") { return .certificateExpired }
            if text.contains("revoked") { return .certificateRevoked }
            return .certificateUntrusted
        }
    }

    /// Whether an alert after the handshake is about the client's certificate (RFC 8446, 6.2).
    ///
    /// Over TLS 1.3 a client is connected before the server has looked at its certificate. If the server closes the connection
    /// before the request is sent, sending fails, and libcurl reads the alert only when it closes the connection.
    static func isAboutCertificate(alert: Int32) -> Bool {
        // bad_certificate, unsupported_certificate, certificate_revoked, certificate_expired, certificate_unknown,
        // unknown_ca, certificate_required
        [42, 43, 44, 45, 46, 48, 116].contains(alert)
    }

    /// Whether the peer's bytes were no TLS records: a server that speaks HTTP, or another protocol, on this port.
    static func isOfPlainPeer(_ text: String) -> Bool {
        // OpenSSL up to 3.1, and from 3.2 on; GnuTLS.
        text.contains("wrong version number") || text.contains("packet length too long")
            || text.contains("An unexpected TLS packet was received")
    }

    /// An alert of the peer that says more than "handshake failed".
    static func alert(_ text: String) -> CurlewError.Code? {
        if text.contains("alert certificate required") { return .clientCertificateRequired }
        if text.contains("alert bad certificate") || text.contains("alert unsupported certificate")
            || text.contains("alert certificate revoked") || text.contains("alert certificate expired")
            || text.contains("alert certificate unknown") || text.contains("alert unknown ca")
        {
            // The server refused what the client showed (or that it showed none).
            return .clientCertificateRequired
        }
        if text.contains("certificate has expired") { return .certificateExpired }
        return GnuTLSFailure.alert(text) ?? (text.contains(" alert ") ? .tlsFailed : nil)
    }
}
