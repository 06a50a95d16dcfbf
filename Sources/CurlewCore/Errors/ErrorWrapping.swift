internal import Foundation

/// Converts errors that user code has thrown, depending on the code that threw them.
package enum ErrorWrapping {
    /// Converts an error of `asURLRequest`, a request modifier or an encoder.
    package static func creation(_ error: any Error) -> CurlewError {
        error.asCurlewError(or: .requestNotCreated(error))
    }

    /// Wraps an error of an adapter, even a `CurlewError`. Cancellations are not wrapped.
    package static func adaptation(_ error: any Error) -> CurlewError {
        // A cancelled adapter is a cancelled request.
        if error is CancellationError || (error as? CurlewError)?.code == .cancelled { return .cancelled }
        return .adaptationFailed(error)
    }

    /// Wraps an error of a middleware, or of a body that it returned. A `CurlewError` is not wrapped.
    package static func interception(_ error: any Error) -> CurlewError {
        if error is CancellationError { return .cancelled }
        return error.asCurlewError(or: .middlewareFailed(error))
    }

    package static func uploadable(_ error: any Error) -> CurlewError {
        error.asCurlewError(or: .bodyNotCreated(error))
    }

    package static func serialization(_ error: any Error) -> CurlewError {
        error.asCurlewError(or: .serializerFailed(error))
    }
}

extension Error {
    package func asCurlewError(or other: @autoclosure () -> CurlewError) -> CurlewError {
        (self as? CurlewError) ?? other()
    }
}

/// Describes an error within the message of another one.
package enum Explanation {
    package static func of(_ error: any Error) -> String {
        if let error = error as? CurlewError { return error.reason.isEmpty ? error.code.rawValue : error.reason }
        // An error from another library may contain the request's URL or a part of a body, with their secrets.
        return Redaction.excerpt(of: (error as? any LocalizedError)?.errorDescription ?? "\(error)", limit: 2_000)
    }
}
