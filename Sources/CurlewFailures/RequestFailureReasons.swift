public import CurlewCore
public import Foundation

extension CurlewError {
    /// The reason that a value is not a URL; `underlying` of `.invalidURL`.
    package struct InvalidURLReason: Error, CustomStringConvertible {
        /// The value given as a URL.
        package let url: any Sendable

        package var description: String { "URL is not valid: \(Self.shown(url))" }

        // URLComponents cannot parse an invalid URL, but its text may still contain a password.
        static func shown(_ url: any Sendable) -> String {
            let text = (url as? String) ?? (url as? URL)?.absoluteString ?? "\(url)"
            let path = text.prefix { $0 != "?" && $0 != "#" }
            let start = path.range(of: "//")?.upperBound ?? path.startIndex
            guard let at = lastAt(of: text, path), start <= at else { return Redaction.reference(text) }
            return path[..<start] + Redaction.reference(String(text[at...].dropFirst()))
        }

        /// Returns the `@` before the host. A password may contain `?` or `#`, at which `path` ends too early. The text
        /// in the port's position is then not a number, and the last `@` of the whole text precedes the host.
        private static func lastAt(of text: String, _ path: Substring) -> String.Index? {
            let at = path.lastIndex(of: "@")
            let rest = at.map { path[$0...].dropFirst() } ?? path
            let host = (rest.range(of: "//").map { rest[$0.upperBound...] } ?? rest).prefix { $0 != "/" }
            guard let colon = host.lastIndex(of: ":"), host[colon...].dropFirst().contains(where: { !$0.isNumber })
            else { return at }
            return text.lastIndex(of: "@")
        }
    }

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
}
