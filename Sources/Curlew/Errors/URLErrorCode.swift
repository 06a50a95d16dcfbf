internal import CurlewCore
internal import CurlewFailures
internal import Foundation

extension URLError.Code {
    /// What URLSession calls a failure of this kind; nil where it has no name for it.
    init?(standingFor error: CurlewError) {
        guard error.isSessionTaskError, let code = Self.codes[error.code] else { return nil }
        self = code
    }

    private static let codes: [CurlewError.Code: URLError.Code] = [
        .invalidURL: .unsupportedURL,
        .unsupported: .unsupportedURL,
        .resolveFailed: .cannotFindHost,
        .connectFailed: .cannotConnectToHost,
        .proxyFailed: .cannotConnectToHost,
        .addressRefused: .cannotConnectToHost,
        .tlsFailed: .secureConnectionFailed,
        .certificateExpired: .serverCertificateHasBadDate,
        .certificateHostMismatch: .serverCertificateUntrusted,
        .certificateUntrusted: .serverCertificateUntrusted,
        .certificateRevoked: .serverCertificateUntrusted,
        .clientCertificateRequired: .clientCertificateRequired,
        .sendFailed: .networkConnectionLost,
        .receiveFailed: .networkConnectionLost,
        .truncated: .networkConnectionLost,
        .protocolViolation: .badServerResponse,
        .contentDecodingFailed: .cannotDecodeContentData,
        .limitExceeded: .dataLengthExceedsMaximum,
        .queueTimedOut: .timedOut,
        .connectTimedOut: .timedOut,
        .firstByteTimedOut: .timedOut,
        .idleTimedOut: .timedOut,
        .totalTimedOut: .timedOut,
        .tooManyRedirects: .httpTooManyRedirects,
        .redirectRefused: .redirectToNonExistentLocation,
        .authenticationFailed: .userAuthenticationRequired,
    ]
}

extension URLError {
    init(_ code: URLError.Code, url: URL?) {
        self.init(code, userInfo: url.map { [NSURLErrorFailingURLErrorKey: $0] } ?? [:])
    }
}
