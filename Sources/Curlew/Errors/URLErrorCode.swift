package import CurlewCore
internal import CurlewFailures
package import Foundation
internal import FoundationNetworking

extension URLError.Code {
    /// What URLSession calls a failure of this kind; nil where it has no name for it.
    init?(standingFor error: CurlewError) {
        guard error.isSessionTaskError, let code = Self.codes[error.code] else { return nil }
        self = code
    }

    /// What URLSession calls a failure of this code; nil where it has no name for it.
    package init?(standingFor code: CurlewError.Code) {
        guard let found = Self.codes[code] else { return nil }
        self = found
    }

    fileprivate static let codes: [CurlewError.Code: URLError.Code] = [
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

extension CurlewError.Code {
    /// The code of what URLSession calls so; nil where it means nothing here.
    package init?(standingFor code: URLError.Code) {
        guard let found = Self.codes[code] else { return nil }
        self = found
    }

    /// Every code that stands for one of these, or is what one of these stands for.
    package static func all(standingFor codes: Set<URLError.Code>) -> Set<CurlewError.Code> {
        Set(URLError.Code.codes.filter { codes.contains($0.value) }.map(\.key))
            .union(codes.compactMap(CurlewError.Code.init(standingFor:)))
    }

    private static let codes: [URLError.Code: CurlewError.Code] = [
        .cannotFindHost: .resolveFailed,
        .dnsLookupFailed: .resolveFailed,
        .cannotConnectToHost: .connectFailed,
        .notConnectedToInternet: .connectFailed,
        .dataNotAllowed: .connectFailed,
        .internationalRoamingOff: .connectFailed,
        .callIsActive: .connectFailed,
        .networkConnectionLost: .receiveFailed,
        .cannotLoadFromNetwork: .receiveFailed,
        .backgroundSessionInUseByAnotherProcess: .receiveFailed,
        .backgroundSessionWasDisconnected: .receiveFailed,
        .timedOut: .idleTimedOut,
        .secureConnectionFailed: .tlsFailed,
        .serverCertificateHasBadDate: .certificateExpired,
        .serverCertificateNotYetValid: .certificateExpired,
        .serverCertificateUntrusted: .certificateUntrusted,
        .serverCertificateHasUnknownRoot: .certificateUntrusted,
        .clientCertificateRequired: .clientCertificateRequired,
        .clientCertificateRejected: .clientCertificateRequired,
        .badServerResponse: .protocolViolation,
        .cannotParseResponse: .protocolViolation,
        .cannotDecodeContentData: .contentDecodingFailed,
        .cannotDecodeRawData: .contentDecodingFailed,
        .downloadDecodingFailedMidStream: .contentDecodingFailed,
        .downloadDecodingFailedToComplete: .contentDecodingFailed,
        .dataLengthExceedsMaximum: .limitExceeded,
        .httpTooManyRedirects: .tooManyRedirects,
        .redirectToNonExistentLocation: .redirectRefused,
        .userAuthenticationRequired: .authenticationFailed,
    ]
}

extension URLError {
    /// The error itself, or the one that user code put inside. Not the one that stands for a failed exchange, whose code says
    /// more.
    static func given(by error: any Error) -> URLError? {
        if let error = error as? URLError { return error }
        let inner = (error as? CurlewError)?.underlying
        return inner as? URLError ?? (inner as? CurlewError.SessionTaskFailure)?.error as? URLError
    }

    init(_ code: URLError.Code, url: URL?) {
        self.init(code, userInfo: url.map { [NSURLErrorFailingURLErrorKey: $0] } ?? [:])
    }
}
