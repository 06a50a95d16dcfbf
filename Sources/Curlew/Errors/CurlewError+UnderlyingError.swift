public import CurlewCore
internal import CurlewFailures
public import Foundation
internal import FoundationNetworking

extension CurlewError {
    /// The error that `URLSession` would have thrown: the `URLError` that user code put inside, otherwise the one for a
    /// failed exchange, a cancellation or an invalidated session; `nil` if there is none.
    public var urlError: URLError? {
        if let given = URLError.given(by: self) { return given }
        let isCancellation = isExplicitlyCancelledError || isSessionInvalidatedError
        return (isCancellation ? .cancelled : URLError.Code(standingFor: self)).map { URLError($0, url: url) }
    }

    /// The error inside this one, from an encoder, an adapter, a decoder or the system. If the exchange failed and none
    /// of them threw, the `URLError` that stands for the code, for callers that expect one.
    public var underlyingError: (any Error)? {
        switch underlying {
        case let reason as ParameterEncodingFailureReason: reason.underlyingError
        case let reason as ParameterEncoderFailureReason: reason.underlyingError
        case let reason as MultipartEncodingFailureReason: reason.underlyingError
        case let reason as ResponseValidationFailureReason: reason.underlyingError
        case let reason as ResponseSerializationFailureReason: reason.underlyingError
        case let reason as ServerTrustFailureReason: reason.underlyingError
        case let failure as RequestRetryFailure: failure.retryError
        case let failure as DownloadedFileMoveFailure: failure.error
        case let reason as SessionClosedReason: reason.underlyingError
        case let failure as SessionTaskFailure: failure.error
        case is InvalidURLReason, is URLRequestValidationFailureReason: nil
        case let error?: error
        case nil: URLError.Code(standingFor: self).map { URLError($0, url: url) }
        }
    }
}
