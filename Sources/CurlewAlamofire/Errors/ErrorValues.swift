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

    // Some details occur in several phases. The code does not decide, because user code may change it.
    private var reasonOfAlamofire: (any Error)? {
        switch phase {
        case .creation:
            let reasons: [(any Error)?] = [
                URLRequestValidationFailureReason(of: self), ParameterEncodingFailureReason(of: self),
                ParameterEncoderFailureReason(of: self), MultipartEncodingFailureReason(of: self),
            ]
            return reasons.lazy.compactMap { $0 }.first
        case .tls: return ServerTrustFailureReason(of: self)
        case .validation: return ResponseValidationFailureReason(of: self)
        case .decoding: return ResponseSerializationFailureReason(of: self)
        case .file: return DownloadedFileMoveFailure(of: self)
        case .retry: return RequestRetryFailure(of: self)
        case .lifecycle: return SessionClosedReason(of: self)
        case .adaptation, .queue, .resolve, .connect, .proxy, .send, .waiting, .receive, .redirect:
            // A status can also be refused while the body arrives. Such an error has no detail.
            return detail == nil ? ResponseValidationFailureReason(of: self) : nil
        }
    }

    /// The error inside this one, from an encoder, an adapter, a decoder or the system. If the exchange failed and none
    /// of them threw, the `URLError` that corresponds to the code, for callers that expect one.
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
