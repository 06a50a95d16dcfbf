internal import CurlewCore
internal import CurlewFailures

extension Error {
    func asCurlewError(or other: @autoclosure () -> CurlewError) -> CurlewError { (self as? CurlewError) ?? other() }
}

/// Converts errors that user code has thrown, depending on the code that threw them.
enum ErrorWrapping {
    /// Converts an error of `asURLRequest`, a request modifier or an encoder.
    static func creation(_ error: any Error) -> CurlewError {
        error.asCurlewError(or: .createURLRequestFailed(error: error))
    }

    /// Wraps an error of an adapter, so that `isRequestAdaptationError` is true. Cancellations are not wrapped.
    static func adaptation(_ error: any Error) -> CurlewError {
        // A cancelled adapter is a cancelled request.
        if error is CancellationError || (error as? CurlewError)?.code == .cancelled { return .explicitlyCancelled }
        return .requestAdaptationFailed(error: error)
    }

    static func uploadable(_ error: any Error) -> CurlewError {
        error.asCurlewError(or: .createUploadableFailed(error: error))
    }

    static func validation(_ error: any Error) -> CurlewError {
        error.asCurlewError(or: .responseValidationFailed(reason: .customValidationFailed(error: error)))
    }

    static func serialization(_ error: any Error) -> CurlewError {
        error.asCurlewError(or: .responseSerializationFailed(reason: .customSerializationFailed(error: error)))
    }
}
