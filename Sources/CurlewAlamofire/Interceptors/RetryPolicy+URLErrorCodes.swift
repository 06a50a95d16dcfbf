public import Curlew
public import Foundation
internal import FoundationNetworking

// Alamofire names what is retried by Foundation's codes.
extension RetryPolicy {
    /// The codes that Alamofire retries.
    public static let defaultRetryableURLErrorCodes: Set<URLError.Code> = usualFoundationCodes

    /// A policy that retries the failures for which these codes of Foundation's stand.
    public convenience init(
        retryLimit: UInt = RetryPolicy.defaultRetryLimit,
        exponentialBackoffBase: UInt = RetryPolicy.defaultExponentialBackoffBase,
        exponentialBackoffScale: Double = RetryPolicy.defaultExponentialBackoffScale,
        retryableHTTPMethods: Set<HTTPMethod> = RetryPolicy.defaultRetryableHTTPMethods,
        retryableHTTPStatusCodes: Set<Int> = RetryPolicy.defaultRetryableHTTPStatusCodes,
        retryableURLErrorCodes: Set<URLError.Code>,
        jitter: Jitter = .full,
        maximumDelay: TimeInterval = 60,
        honorsRetryAfter: Bool = true,
        budget: RetryBudget? = nil
    ) {
        self.init(
            retryLimit: retryLimit,
            exponentialBackoffBase: exponentialBackoffBase,
            exponentialBackoffScale: exponentialBackoffScale,
            retryableHTTPMethods: retryableHTTPMethods,
            retryableHTTPStatusCodes: retryableHTTPStatusCodes,
            retryableErrorCodes: CurlewError.Code.standing(for: retryableURLErrorCodes),
            jitter: jitter,
            maximumDelay: maximumDelay,
            honorsRetryAfter: honorsRetryAfter,
            budget: budget
        )
        foundationCodes = retryableURLErrorCodes
    }

    /// Foundation's codes for what is retried.
    public var retryableURLErrorCodes: Set<URLError.Code> {
        if let foundationCodes { return foundationCodes }
        guard retryableErrorCodes != Self.defaultRetryableErrorCodes else { return Self.defaultRetryableURLErrorCodes }
        return Set(retryableErrorCodes.compactMap { URLError.Code(standingFor: $0) })
    }
}

extension CurlewError.Code {
    /// Every clock and every cause has its own code: several stand for one of Foundation's.
    fileprivate static func standing(for codes: Set<URLError.Code>) -> Set<CurlewError.Code> {
        // A request whose whole time is over has none left for another try.
        all(standingFor: codes).subtracting([.totalTimedOut])
    }
}

extension RequestInterceptor where Self == RetryPolicy {
    /// A policy that retries the failures for which these codes of Foundation's stand.
    public static func retryPolicy(
        retryLimit: UInt = RetryPolicy.defaultRetryLimit,
        exponentialBackoffBase: UInt = RetryPolicy.defaultExponentialBackoffBase,
        exponentialBackoffScale: Double = RetryPolicy.defaultExponentialBackoffScale,
        retryableHTTPMethods: Set<HTTPMethod> = RetryPolicy.defaultRetryableHTTPMethods,
        retryableHTTPStatusCodes: Set<Int> = RetryPolicy.defaultRetryableHTTPStatusCodes,
        retryableURLErrorCodes: Set<URLError.Code>
    ) -> RetryPolicy {
        RetryPolicy(
            retryLimit: retryLimit,
            exponentialBackoffBase: exponentialBackoffBase,
            exponentialBackoffScale: exponentialBackoffScale,
            retryableHTTPMethods: retryableHTTPMethods,
            retryableHTTPStatusCodes: retryableHTTPStatusCodes,
            retryableURLErrorCodes: retryableURLErrorCodes
        )
    }
}
