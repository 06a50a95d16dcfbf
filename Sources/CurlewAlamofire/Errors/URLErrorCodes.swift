public import Curlew
public import Foundation
internal import FoundationNetworking

extension CurlewError {
    /// The error that `URLSession` would have thrown: the `URLError` that user code put inside, otherwise the one for a
    /// failed exchange, a cancellation or an invalidated session; `nil` if there is none.
    public var urlError: URLError? {
        if let givenURLError { return givenURLError }
        let isCancellation = isExplicitlyCancelledError || isSessionInvalidatedError
        return (isCancellation ? .cancelled : URLError.Code(standingFor: self)).map { URLError($0, url: url) }
    }
}

extension URLError {
    init(_ code: URLError.Code, url: URL?) {
        self.init(code, userInfo: url.map { [NSURLErrorFailingURLErrorKey: $0] } ?? [:])
    }
}

extension URLError.Code {
    /// The code that URLSession uses for a failed exchange with this error; `nil` if it has none.
    init?(standingFor error: CurlewError) {
        guard error.isSessionTaskError else { return nil }
        self.init(standingFor: error.code)
    }

    /// The code that URLSession uses for failures with this code; `nil` if it has none.
    init?(standingFor code: CurlewError.Code) {
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
    /// All codes that are converted to one of these, or that one of these is converted to.
    static func all(standingFor codes: Set<URLError.Code>) -> Set<CurlewError.Code> {
        Set(URLError.Code.codes.filter { codes.contains($0.value) }.map(\.key))
            .union(codes.compactMap(CurlewError.Code.init(standingFor:)))
    }
}
