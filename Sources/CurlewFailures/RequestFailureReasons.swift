public import CurlewCore
public import Foundation

extension CurlewError {
    /// Why a string or other value is no URL; `underlying` of `.invalidURL`.
    package struct InvalidURLReason: Error, CustomStringConvertible {
        /// What was given as a URL.
        package let url: any Sendable

        package var description: String { "URL is not valid: \(Self.shown(url))" }

        // What is no URL cannot be taken apart by URLComponents, and may still hold a password.
        static func shown(_ url: any Sendable) -> String {
            let text = (url as? String) ?? (url as? URL)?.absoluteString ?? "\(url)"
            let path = text.prefix { $0 != "?" && $0 != "#" }
            let start = path.range(of: "//")?.upperBound ?? path.startIndex
            guard let at = lastAt(of: text, path), start <= at else { return Redaction.reference(text) }
            return path[..<start] + Redaction.reference(String(text[at...].dropFirst()))
        }

        /// The one in front of the host. A password may hold what ends a path, and then what stands in the port's place is none.
        private static func lastAt(of text: String, _ path: Substring) -> String.Index? {
            let at = path.lastIndex(of: "@")
            let rest = at.map { path[$0...].dropFirst() } ?? path
            let host = (rest.range(of: "//").map { rest[$0.upperBound...] } ?? rest).prefix { $0 != "/" }
            guard let colon = host.lastIndex(of: ":"), host[colon...].dropFirst().contains(where: { !$0.isNumber })
            else { return at }
            return text.lastIndex(of: "@")
        }
    }

    /// Why a `URLRequest` cannot be sent; `underlying` of `.invalidBody`.
    public enum URLRequestValidationFailureReason: Error {
        /// A GET request with a body.
        case bodyDataInGETRequest(Data)
    }

    /// Why a `ParameterEncoding` failed; `underlying` of `.parameterEncodingFailed`.
    public enum ParameterEncodingFailureReason: Error {
        /// The request has no URL.
        case missingURL
        /// The parameters are not JSON.
        case jsonEncodingFailed(error: any Error)
        /// The parameters are not a property list.
        case propertyListEncodingFailed(error: any Error)
        /// An encoding of your own failed.
        case customEncodingFailed(error: any Error)
    }

    /// Why a `ParameterEncoder` failed; `underlying` of `.parameterEncodingFailed`.
    public enum ParameterEncoderFailureReason: Error {
        /// What a request lacks.
        public enum RequiredComponent: Sendable, Hashable {
            /// The request's URL.
            case url
            /// The request's method, which is not one that the encoder knows.
            case httpMethod(rawValue: String)
        }

        /// The request lacks something that the encoder needs.
        case missingRequiredComponent(RequiredComponent)
        /// The encoder threw.
        case encoderFailed(error: any Error)
    }

    /// What a retrier said instead of trying again; `underlying` of `.retryFailed`.
    public struct RequestRetryFailure: Error {
        /// The retrier's error.
        public let retryError: any Error
        /// The error that the retrier was asked about.
        public let originalError: any Error

        /// Creates the error of a retrier that failed.
        public init(retryError: any Error, originalError: any Error) {
            self.retryError = retryError
            self.originalError = originalError
        }
    }

    /// How a session ended; `underlying` of `.sessionClosed`.
    public enum SessionClosedReason: Error {
        /// Its last reference went away.
        case deinitialized
        /// The session was invalidated, with the reason if one was given.
        case invalidated(error: (any Error)?)
    }
}
