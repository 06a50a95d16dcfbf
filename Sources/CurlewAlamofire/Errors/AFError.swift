public import Curlew
internal import CurlewFailures
internal import Foundation
internal import FoundationNetworking

/// Alamofire's name for `CurlewError`.
public typealias AFError = CurlewError

extension CurlewError {
    /// The error of something that is not a URL, as Alamofire writes it.
    public static func invalidURL(url: any URLConvertible) -> CurlewError { .invalidURL(of: url) }

    /// The error of an exchange that failed, as Alamofire writes it: its code is the one that stands for a `URLError`,
    /// `.internal` for other errors.
    public static func sessionTaskFailed(error: any Error) -> CurlewError {
        CurlewError(
            (error as? URLError).flatMap { CurlewError.Code(standingFor: $0.code) } ?? .internal,
            phase: .receive,
            reason: Explanation.of(error),
            underlying: SessionTaskFailure(error: error)
        )
    }

    /// The status of the response; `nil` as in Alamofire if a validation of yours, the content type or the decoding failed: code
    /// that renews tokens takes a 401 here for the server's refusal.
    ///
    /// It takes the place of Curlew's `responseCode`, the status of the response that any error is about; in a file that
    /// imports `Curlew` too, Curlew's is used.
    @_disfavoredOverload
    public var responseCode: Int? {
        switch code {
        case .validationFailed, .unacceptableContentType, .decodingFailed: nil
        default: statusOfResponse
        }
    }

    /// The value that is no URL.
    public var urlConvertible: (any URLConvertible)? {
        (underlying as? InvalidURLReason)?.url as? any URLConvertible
    }
}

extension Error {
    /// The error as a `CurlewError`, if it is one.
    public var asAFError: AFError? { self as? AFError }

    /// The error as a `CurlewError`. One that is none becomes `.internal` with `message` and itself as `underlying`,
    /// where Alamofire traps.
    public func asAFError(
        orFailWith message: @autoclosure () -> String,
        file: StaticString = #fileID,
        line: UInt = #line
    ) -> AFError {
        asAFError
            ?? CurlewError(.internal, phase: .lifecycle, reason: "\(message()) (\(file):\(line))", underlying: self)
    }
}
