public import CurlewCore
public import Foundation

extension CurlewError {
    /// Why a string or other value is no URL; `underlying` of `.invalidURL`.
    public struct InvalidURLReason: Error, CustomStringConvertible {
        public let url: any URLConvertible

        public init(url: any URLConvertible) { self.url = url }

        public var description: String { "URL is not valid: \(Self.shown(url))" }

        // What is no URL cannot be taken apart by URLComponents, and may still hold a password.
        static func shown(_ url: any URLConvertible) -> String {
            var text = (url as? String) ?? (url as? URL)?.absoluteString ?? "\(url)"
            if let query = text.firstIndex(of: "?") { text = text[..<query] + "?_" }
            guard let slashes = text.range(of: "//"), let at = text[slashes.upperBound...].lastIndex(of: "@") else {
                return text
            }
            return String(text[..<slashes.upperBound] + text[at...].dropFirst())
        }
    }

    /// Why a `URLRequest` cannot be sent; `underlying` of `.invalidBody`.
    public enum URLRequestValidationFailureReason: Error {
        /// A GET request with a body.
        case bodyDataInGETRequest(Data)
    }

    /// Why a `ParameterEncoding` failed; `underlying` of `.parameterEncodingFailed`.
    public enum ParameterEncodingFailureReason: Error {
        case missingURL
        case jsonEncodingFailed(error: any Error)
        case propertyListEncodingFailed(error: any Error)
        case customEncodingFailed(error: any Error)
    }

    /// Why a `ParameterEncoder` failed; `underlying` of `.parameterEncodingFailed`.
    public enum ParameterEncoderFailureReason: Error {
        /// What a request lacks.
        public enum RequiredComponent: Sendable, Hashable {
            case url
            case httpMethod(rawValue: String)
        }

        case missingRequiredComponent(RequiredComponent)
        case encoderFailed(error: any Error)
    }

    /// What a retrier said instead of trying again; `underlying` of `.retryFailed`.
    public struct RequestRetryFailure: Error {
        /// The retrier's error.
        public let retryError: any Error
        /// The error that the retrier was asked about.
        public let originalError: any Error

        public init(retryError: any Error, originalError: any Error) {
            self.retryError = retryError
            self.originalError = originalError
        }
    }

    /// How a session ended; `underlying` of `.sessionClosed`.
    public enum SessionClosedReason: Error {
        /// Its last reference went away.
        case deinitialized
        case invalidated(error: (any Error)?)
    }
}
