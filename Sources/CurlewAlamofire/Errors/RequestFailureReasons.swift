public import Curlew
public import Foundation

extension CurlewError {
    /// The reason that a `URLRequest` cannot be sent; `underlying` of `.invalidBody`.
    public enum URLRequestValidationFailureReason: Error {
        /// A GET request with a body.
        case bodyDataInGETRequest(Data)
    }

    /// The reason that a `ParameterEncoding` failed; `underlying` of `.parameterEncodingFailed`.
    public enum ParameterEncodingFailureReason: Error {
        /// The request has no URL.
        case missingURL
        /// The parameters cannot be encoded as JSON.
        case jsonEncodingFailed(error: any Error)
        /// The parameters cannot be encoded as a property list.
        case propertyListEncodingFailed(error: any Error)
        /// A custom encoding failed.
        case customEncodingFailed(error: any Error)
    }

    /// The reason that a `ParameterEncoder` failed; `underlying` of `.parameterEncodingFailed`.
    public enum ParameterEncoderFailureReason: Error {
        /// A component that the encoder requires.
        public enum RequiredComponent: Sendable, Hashable {
            /// The request's URL.
            case url
            /// The request's method, which the encoder does not support.
            case httpMethod(rawValue: String)
        }

        /// The request lacks a required component.
        case missingRequiredComponent(RequiredComponent)
        /// The encoder threw.
        case encoderFailed(error: any Error)
    }

    /// The error of a `URLRequest` that cannot be sent, as Alamofire writes it.
    public static func urlRequestValidationFailed(reason: URLRequestValidationFailureReason) -> CurlewError {
        switch reason {
        case .bodyDataInGETRequest(let body): .bodyNotAllowed(body)
        }
    }

    /// The error of a `ParameterEncoding`, as Alamofire writes it.
    public static func parameterEncodingFailed(reason: ParameterEncodingFailureReason) -> CurlewError {
        switch reason {
        case .missingURL: .noURLToEncode
        case .jsonEncodingFailed(let error): .parametersNotJSON(error)
        case .propertyListEncodingFailed(let error): .parametersNotPropertyList(error)
        case .customEncodingFailed(let error): .parametersNotEncoded(error)
        }
    }

    /// The error of a `ParameterEncoder`, as Alamofire writes it.
    public static func parameterEncoderFailed(reason: ParameterEncoderFailureReason) -> CurlewError {
        switch reason {
        case .missingRequiredComponent(.url): .encoderLacksURL
        case .missingRequiredComponent(.httpMethod(let rawValue)): .encoderLacksMethod(rawValue)
        case .encoderFailed(let error): .encoderFailed(error)
        }
    }
}

extension CurlewError.URLRequestValidationFailureReason {
    init?(of error: CurlewError) {
        guard case .body(let body)? = error.detail else { return nil }
        self = .bodyDataInGETRequest(body)
    }
}

extension CurlewError.ParameterEncodingFailureReason {
    init?(of error: CurlewError) {
        let inside = error.thrownError ?? error
        switch error.detail {
        case .noURL?: self = .missingURL
        case .json?: self = .jsonEncodingFailed(error: inside)
        case .propertyList?: self = .propertyListEncodingFailed(error: inside)
        case .custom?: self = .customEncodingFailed(error: inside)
        default: return nil
        }
    }

    var underlyingError: (any Error)? {
        switch self {
        case .missingURL: nil
        case .jsonEncodingFailed(let error), .propertyListEncodingFailed(let error), .customEncodingFailed(let error):
            error
        }
    }
}

extension CurlewError.ParameterEncoderFailureReason {
    init?(of error: CurlewError) {
        switch error.detail {
        case .noComponent(nil)?: self = .missingRequiredComponent(.url)
        case .noComponent(let method?)?: self = .missingRequiredComponent(.httpMethod(rawValue: method))
        case .coder?: self = .encoderFailed(error: error.thrownError ?? error)
        default: return nil
        }
    }

    var underlyingError: (any Error)? {
        switch self {
        case .missingRequiredComponent: nil
        case .encoderFailed(let error): error
        }
    }
}
