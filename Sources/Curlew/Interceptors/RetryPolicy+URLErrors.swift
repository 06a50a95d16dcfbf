internal import CurlewCore
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

    /// Whether a `URLError` that user code gives is retried.
    func retries(_ code: URLError.Code) -> Bool {
        if let foundationCodes { return foundationCodes.contains(code) }
        guard retryableErrorCodes != Self.defaultRetryableErrorCodes else {
            return Self.usualFoundationCodes.contains(code)
        }
        return CurlewError.Code(standingFor: code).map(retryableErrorCodes.contains) ?? false
    }
}
