package import CurlewCore
package import Foundation
internal import FoundationNetworking

extension RetryPolicy {
    /// The codes that Alamofire retries.
    package static let usualFoundationCodes: Set<URLError.Code> = [
        .backgroundSessionInUseByAnotherProcess, .backgroundSessionWasDisconnected, .badServerResponse, .callIsActive,
        .cannotConnectToHost, .cannotFindHost, .cannotLoadFromNetwork, .dataNotAllowed, .dnsLookupFailed,
        .downloadDecodingFailedMidStream, .downloadDecodingFailedToComplete, .internationalRoamingOff,
        .networkConnectionLost, .notConnectedToInternet, .secureConnectionFailed, .serverCertificateHasBadDate,
        .serverCertificateNotYetValid, .timedOut,
    ]

    /// Whether the policy retries a `URLError` that user code has thrown.
    func retries(_ code: URLError.Code) -> Bool {
        if let foundationCodes { return foundationCodes.contains(code) }
        guard retryableErrorCodes != Self.defaultRetryableErrorCodes else {
            return Self.usualFoundationCodes.contains(code)
        }
        return CurlewError.Code(standingFor: code).map(retryableErrorCodes.contains) ?? false
    }
}

extension CurlewError {
    /// The `URLError` that user code threw, or reports as the transport's failure. If it comes from a decoder, a
    /// validator or a trust evaluator, it says nothing about the transport.
    package var givenURLError: URLError? {
        switch detail {
        case nil, .exchange?: underlying as? URLError
        default: nil
        }
    }
}

extension CurlewError.Code {
    /// The code for failures that URLSession reports as `code`; `nil` if there is none.
    package init?(standingFor code: URLError.Code) {
        guard let found = Self.codes[code] else { return nil }
        self = found
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
