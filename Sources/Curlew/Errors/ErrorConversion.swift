public import CurlewCore

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
        asAFError(
            or: CurlewError(.internal, phase: .lifecycle, reason: "\(message()) (\(file):\(line))", underlying: self)
        )
    }

    func asAFError(or other: @autoclosure () -> AFError) -> AFError { (self as? AFError) ?? other() }
}

/// What becomes of an error that user code threw, by where it was thrown.
enum ErrorWrapping {
    /// `asURLRequest`, a request modifier or an encoder.
    static func creation(_ error: any Error) -> CurlewError {
        error.asAFError(or: .createURLRequestFailed(error: error))
    }

    /// An adapter; always wrapped, so that `isRequestAdaptationError` tells where it came from.
    static func adaptation(_ error: any Error) -> CurlewError {
        // A cancelled adapter is a cancelled request.
        if error is CancellationError || (error as? CurlewError)?.code == .cancelled { return .explicitlyCancelled }
        return .requestAdaptationFailed(error: error)
    }

    static func uploadable(_ error: any Error) -> CurlewError {
        error.asAFError(or: .createUploadableFailed(error: error))
    }

    static func validation(_ error: any Error) -> CurlewError {
        error.asAFError(or: .responseValidationFailed(reason: .customValidationFailed(error: error)))
    }

    static func serialization(_ error: any Error) -> CurlewError {
        error.asAFError(or: .responseSerializationFailed(reason: .customSerializationFailed(error: error)))
    }
}

extension CurlewError {
    /// Takes over where and when `original` happened.
    mutating func takePlace(of original: CurlewError) {
        url = original.url
        attempt = original.attempt
        metrics = original.metrics
        native = original.native
        responseCode = original.responseCode
        responseBody = original.responseBody
        downloadResumeData = original.downloadResumeData
    }
}
