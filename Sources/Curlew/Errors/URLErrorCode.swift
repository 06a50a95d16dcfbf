package import CurlewCore
internal import CurlewFailures
package import Foundation
internal import FoundationNetworking

extension URLError.Code {
    /// The code that URLSession uses for a failed exchange with this error; `nil` if it has none.
    init?(standingFor error: CurlewError) {
        guard error.isSessionTaskError, let code = Self.codes[error.code] else { return nil }
        self = code
    }

    /// The code that URLSession uses for failures with this code; `nil` if it has none.
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
    /// The code for failures that URLSession reports as `code`; `nil` if there is none.
    package init?(standingFor code: URLError.Code) {
        guard let found = Self.codes[code] else { return nil }
        self = found
    }

    /// All codes that are converted to one of these, or that one of these is converted to.
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
    /// The error itself, or the `URLError` that user code put inside. Leaves out the one that stands for a failed
    /// exchange, because the `CurlewError`'s code is more precise.
    static func given(by error: any Error) -> URLError? {
        if let error = error as? URLError { return error }
        let inner = (error as? CurlewError)?.underlying
        return inner as? URLError ?? (inner as? CurlewError.SessionTaskFailure)?.error as? URLError
    }

    init(_ code: URLError.Code, url: URL?) {
        self.init(code, userInfo: url.map { [NSURLErrorFailingURLErrorKey: $0] } ?? [:])
    }
}
