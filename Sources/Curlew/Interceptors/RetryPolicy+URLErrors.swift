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

    /// Whether the policy retries a `URLError` that user code has thrown.
    func retries(_ code: URLError.Code) -> Bool {
        if let foundationCodes { return foundationCodes.contains(code) }
        guard retryableErrorCodes != Self.defaultRetryableErrorCodes else {
            return Self.usualFoundationCodes.contains(code)
        }
        return CurlewError.Code(standingFor: code).map(retryableErrorCodes.contains) ?? false
    }
}
