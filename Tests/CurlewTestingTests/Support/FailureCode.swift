import Curlew

/// Returns the code of a request's error, `nil` if it succeeds.
func failureCode(_ request: DataRequest) async -> CurlewError.Code? {
    do throws(CurlewError) {
        _ = try await request.data()
        return nil
    } catch {
        return error.code
    }
}
