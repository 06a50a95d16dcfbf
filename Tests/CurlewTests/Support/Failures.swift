import Curlew
import CurlewCore
import Testing

/// Returns the error of a request, `nil` if it succeeds.
func failure(of request: DataRequest) async -> CurlewError? { await request.response().error }

/// Returns the error of a call, `nil` if it succeeds.
func failure<Value>(_ call: () async throws -> Value) async -> CurlewError? {
    do {
        _ = try await call()
        return nil
    } catch {
        return error as? CurlewError
    }
}

/// Returns the error of a call. Fails the test, and throws, if it succeeds or has an error of another type.
func requireFailure(
    sourceLocation: SourceLocation = #_sourceLocation, of call: () async throws -> some Any
) async throws -> CurlewError {
    try await #require(throws: CurlewError.self, sourceLocation: sourceLocation) { _ = try await call() }
}
