public import Curlew

/// A result whose failure is a `CurlewError`.
public typealias AFResult<Success> = Result<Success, CurlewError>

/// A data response whose failure is a `CurlewError`.
public typealias AFDataResponse<Success: Sendable> = DataResponse<Success, CurlewError>

/// A download response whose failure is a `CurlewError`.
public typealias AFDownloadResponse<Success: Sendable> = DownloadResponse<Success, CurlewError>

extension DataResponse {
    /// Returns the response with its value transformed.
    public func map<NewSuccess: Sendable>(_ transform: (Success) -> NewSuccess) -> DataResponse<NewSuccess, Failure> {
        with(result.map(transform))
    }

    /// Returns the response with its value transformed by a closure that may throw.
    public func tryMap<NewSuccess: Sendable>(
        _ transform: (Success) throws -> NewSuccess
    ) -> DataResponse<NewSuccess, any Error> {
        with(result.tryMap(transform))
    }

    /// Returns the response with its error transformed.
    public func mapError<NewFailure: Error>(
        _ transform: (Failure) -> NewFailure
    ) -> DataResponse<Success, NewFailure> {
        with(result.mapError(transform))
    }

    /// Returns the response with its error transformed by a closure that may throw.
    public func tryMapError<NewFailure: Error>(
        _ transform: (Failure) throws -> NewFailure
    ) -> DataResponse<Success, any Error> {
        with(result.tryMapError(transform))
    }
}

extension DownloadResponse {
    /// Returns the response with its value transformed.
    public func map<NewSuccess: Sendable>(
        _ transform: (Success) -> NewSuccess
    ) -> DownloadResponse<NewSuccess, Failure> {
        with(result.map(transform))
    }

    /// Returns the response with its value transformed by a closure that may throw.
    public func tryMap<NewSuccess: Sendable>(
        _ transform: (Success) throws -> NewSuccess
    ) -> DownloadResponse<NewSuccess, any Error> {
        with(result.tryMap(transform))
    }

    /// Returns the response with its error transformed.
    public func mapError<NewFailure: Error>(
        _ transform: (Failure) -> NewFailure
    ) -> DownloadResponse<Success, NewFailure> {
        with(result.mapError(transform))
    }

    /// Returns the response with its error transformed by a closure that may throw.
    public func tryMapError<NewFailure: Error>(
        _ transform: (Failure) throws -> NewFailure
    ) -> DownloadResponse<Success, any Error> {
        with(result.tryMapError(transform))
    }
}

extension Result {
    /// Transforms the value with a closure that may throw.
    func tryMap<NewSuccess>(_ transform: (Success) throws -> NewSuccess) -> Result<NewSuccess, any Error> {
        switch self {
        case .success(let value): Result<NewSuccess, any Error> { try transform(value) }
        case .failure(let error): .failure(error)
        }
    }

    /// Transforms the error with a closure that may throw.
    func tryMapError<NewFailure: Error>(_ transform: (Failure) throws -> NewFailure) -> Result<Success, any Error> {
        switch self {
        case .success(let value): return .success(value)
        case .failure(let error):
            do { return .failure(try transform(error)) } catch { return .failure(error) }
        }
    }
}
