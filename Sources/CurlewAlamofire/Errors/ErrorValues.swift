public import Curlew
public import Foundation
internal import FoundationNetworking

extension CurlewError {
    /// The error inside this one: Alamofire's reason, such as a `ResponseSerializationFailureReason`, otherwise the
    /// error that your code or the system threw; `nil` if there is neither. Setting it replaces the reason, too.
    ///
    /// It replaces Curlew's `underlying`, which is never a reason. A file that imports `Curlew` too uses Curlew's.
    @_disfavoredOverload
    public var underlying: (any Error)? {
        get { reasonOfAlamofire ?? thrownError }
        set {
            thrownError = newValue
            detail = nil
        }
    }

    private var reasonOfAlamofire: (any Error)? {
        switch code {
        case .invalidBody: return URLRequestValidationFailureReason(of: self)
        case .parameterEncodingFailed:
            return ParameterEncodingFailureReason(of: self) ?? ParameterEncoderFailureReason(of: self) as (any Error)?
        case .multipartEncodingFailed: return MultipartEncodingFailureReason(of: self)
        case .retryFailed: return RequestRetryFailure(of: self)
        case .unacceptableStatus, .unacceptableContentType, .validationFailed:
            return ResponseValidationFailureReason(of: self)
        case .decodingFailed: return ResponseSerializationFailureReason(of: self)
        case .sessionClosed: return SessionClosedReason(of: self)
        default: break
        }
        if let failure = DownloadedFileMoveFailure(of: self) { return failure }
        if code == .fileUnreadable {
            return phase == .validation
                ? ResponseValidationFailureReason(of: self) : ResponseSerializationFailureReason(of: self)
        }
        return isTLS ? ServerTrustFailureReason(of: self) : nil
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
        case is URLRequestValidationFailureReason: nil
        case let error?: error
        case nil: URLError.Code(standingFor: self).map { URLError($0, url: url) }
        }
    }

    /// The status of the response. As in Alamofire, it is `nil` if a validation of yours, the content type or the
    /// decoding failed: code that renews tokens takes a 401 here for the server's refusal.
    ///
    /// It replaces Curlew's `responseCode`, which is the status of the response for errors of every kind. A file that
    /// imports `Curlew` too uses Curlew's.
    @_disfavoredOverload
    public var responseCode: Int? {
        switch code {
        case .validationFailed, .unacceptableContentType, .decodingFailed: nil
        default: statusOfResponse
        }
    }

    /// The value that is not a URL.
    public var urlConvertible: (any URLConvertible)? {
        guard case .value(let value)? = detail else { return nil }
        return value as? any URLConvertible
    }

    /// The content types that validation accepts; `nil` if validation did not fail for a content type.
    public var acceptableContentTypes: [String]? {
        switch underlying as? ResponseValidationFailureReason {
        case .missingContentType(let types)?, .unacceptableContentType(let types, _)?: types
        default: nil
        }
    }

    /// The content type that validation rejected; `nil` if validation did not fail for it.
    public var responseContentType: String? {
        guard case .unacceptableContentType(_, let type)? = underlying as? ResponseValidationFailureReason else {
            return nil
        }
        return type
    }

    /// The encoding in which the body could not be decoded; `nil` for other errors.
    public var failedStringEncoding: String.Encoding? {
        guard case .stringSerializationFailed(let encoding)? = underlying as? ResponseSerializationFailureReason else {
            return nil
        }
        return encoding
    }

    /// The location of a downloaded file that could not be moved; `nil` for other errors.
    public var sourceURL: URL? { (underlying as? DownloadedFileMoveFailure)?.source }

    /// The destination of a downloaded file that could not be moved; `nil` for other errors.
    public var destinationURL: URL? { (underlying as? DownloadedFileMoveFailure)?.destination }
}
