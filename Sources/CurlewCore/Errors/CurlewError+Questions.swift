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

    /// Whether the transport failed: connection, TLS, protocol, a limit or a timeout. An error that knows more, for
    /// instance what a trust evaluator refused, is not the transport's.
    package var isExchangeFailure: Bool {
        switch detail {
        case .exchange?: return true
        case nil: break
        default: return false
        }
        if isTimeout || isConnectivity || isTLS { return true }
        switch code {
        case .addressRefused, .protocolViolation, .contentDecodingFailed, .limitExceeded, .authenticationFailed,
            .tooManyRedirects, .redirectRefused, .invalidURL:
            return true
        default:
            return false
        }
    }

    // For CurlewAlamofire, which declares properties with the original names.

    /// `responseCode`.
    package var statusOfResponse: Int? { responseCode }
    /// `underlying`.
    package var thrownError: (any Error)? {
        get { underlying }
        set { underlying = newValue }
    }
}
