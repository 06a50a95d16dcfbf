public import Curlew
internal import Foundation
internal import FoundationNetworking

/// Alamofire's name for `CurlewError`.
public typealias AFError = CurlewError

extension CurlewError {
    /// The error of a value that is not a URL, in Alamofire's form.
    public static func invalidURL(url: any URLConvertible) -> CurlewError { .invalidURL(url) }

    /// The error of an exchange that failed, in Alamofire's form. Its code is the one that corresponds to a `URLError`,
    /// or `.internal` for other errors.
    public static func sessionTaskFailed(error: any Error) -> CurlewError {
        CurlewError(
            (error as? URLError).flatMap { CurlewError.Code(standingFor: $0.code) } ?? .internal,
            phase: .receive,
            reason: Explanation.of(error),
            underlying: error,
            detail: .exchange
        )
    }

    /// The error of a request that could not be created, as Alamofire writes it.
    public static func createURLRequestFailed(error: any Error) -> CurlewError { .requestNotCreated(error) }

    /// The error of an upload whose body could not be created, as Alamofire writes it.
    public static func createUploadableFailed(error: any Error) -> CurlewError { .bodyNotCreated(error) }

    /// The error of an adapter, as Alamofire writes it.
    public static func requestAdaptationFailed(error: any Error) -> CurlewError { .adaptationFailed(error) }
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
