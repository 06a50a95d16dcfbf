public import Curlew

extension CurlewError {
    /// The failure of a retrier; `underlying` of `.retryFailed`.
    public struct RequestRetryFailure: Error {
        /// The retrier's error.
        public let retryError: any Error
        /// The error that the retrier had to decide about.
        public let originalError: any Error

        /// Creates the error of a retrier that failed.
        public init(retryError: any Error, originalError: any Error) {
            self.retryError = retryError
            self.originalError = originalError
        }
    }

    /// The way in which a session ended; `underlying` of `.sessionClosed`.
    public enum SessionClosedReason: Error {
        /// The last reference to the session was released.
        case deinitialized
        /// The session was invalidated, with the error if one was given.
        case invalidated(error: (any Error)?)
    }

    /// The error of a cancelled request, as Alamofire writes it.
    public static var explicitlyCancelled: CurlewError { .cancelled }

    /// The error of a retrier that failed, with the error that it had to decide about, as Alamofire writes it.
    public static func requestRetryFailed(retryError: any Error, originalError: any Error) -> CurlewError {
        .retryFailed(retryError, original: originalError)
    }

    /// The error of a request whose session was deinitialized, as Alamofire writes it.
    public static var sessionDeinitialized: CurlewError { .sessionReleased }

    /// The error of a request whose session was invalidated, as Alamofire writes it.
    public static func sessionInvalidated(error: (any Error)?) -> CurlewError { .sessionInvalidated(error) }
}

extension CurlewError.RequestRetryFailure {
    init?(of error: CurlewError) {
        guard case .retry(let original)? = error.detail else { return nil }
        self.init(retryError: error.thrownError ?? error, originalError: original)
    }
}

extension CurlewError.SessionClosedReason {
    init?(of error: CurlewError) {
        switch error.detail {
        case .released?: self = .deinitialized
        case .invalidated?: self = .invalidated(error: error.thrownError)
        default: return nil
        }
    }

    var underlyingError: (any Error)? {
        guard case .invalidated(let error) = self else { return nil }
        return error
    }
}
