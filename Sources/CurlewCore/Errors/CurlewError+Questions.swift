internal import Foundation

extension CurlewError {
    /// Whether one of the five timeouts expired.
    public var isTimeout: Bool {
        switch code {
        case .queueTimedOut, .connectTimedOut, .firstByteTimedOut, .idleTimedOut, .totalTimedOut: true
        default: false
        }
    }

    /// Whether the server or proxy could not be reached, or the connection broke.
    public var isConnectivity: Bool {
        switch code {
        case .resolveFailed, .connectFailed, .proxyFailed, .sendFailed, .receiveFailed, .truncated,
            .connectTimedOut:
            true
        default: false
        }
    }

    /// Whether the request was cancelled.
    public var isCancellation: Bool { code == .cancelled }

    /// Whether the connection could not be secured.
    public var isTLS: Bool {
        switch code {
        case .tlsFailed, .certificateExpired, .certificateHostMismatch, .certificateUntrusted,
            .certificateRevoked, .clientCertificateRequired:
            true
        default: false
        }
    }

    /// Returns the error for a feature that the running libcurl lacks.
    public static func unsupported(feature: String, needs: String) -> CurlewError {
        CurlewError(.unsupported, phase: .creation, reason: "\(feature) needs \(needs)")
    }
}
