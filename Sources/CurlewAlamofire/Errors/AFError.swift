public import Curlew
internal import CurlewFailures
internal import Foundation
internal import FoundationNetworking

/// Alamofire's name for `CurlewError`.
public typealias AFError = CurlewError

extension CurlewError {
    /// The error of a value that is not a URL, in Alamofire's form.
    public static func invalidURL(url: any URLConvertible) -> CurlewError { .invalidURL(of: url) }

    /// The error of an exchange that failed, in Alamofire's form. Its code is the one that corresponds to a `URLError`,
    /// or `.internal` for other errors.
    public static func sessionTaskFailed(error: any Error) -> CurlewError {
        CurlewError(
            (error as? URLError).flatMap { CurlewError.Code(standingFor: $0.code) } ?? .internal,
            phase: .receive,
            reason: Explanation.of(error),
            underlying: SessionTaskFailure(error: error)
        )
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
        (underlying as? InvalidURLReason)?.url as? any URLConvertible
    }
}

extension Error {
    /// The error as a `CurlewError`, if it is one.
    public var asAFError: AFError? { self as? AFError }

    /// The error as a `CurlewError`. Another error becomes `.internal` with `message` and with itself as `underlying`;
    /// Alamofire traps instead.
    public func asAFError(
        orFailWith message: @autoclosure () -> String,
        file: StaticString = #fileID,
        line: UInt = #line
    ) -> AFError {
        asAFError
            ?? CurlewError(.internal, phase: .lifecycle, reason: "\(message()) (\(file):\(line))", underlying: self)
    }
}
