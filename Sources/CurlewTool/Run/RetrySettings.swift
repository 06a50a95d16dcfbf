internal import Curlew
internal import Foundation

/// What `--retry` means for a request.
struct RetrySettings: Sendable {
    let limit: Int

    /// nil without `--retry`.
    var interceptor: (any RequestInterceptor)? {
        limit > 0 ? RetryPolicy(retryLimit: UInt(limit)) : nil
    }

    /// Makes statuses that may pass into failures as long as tries are left. The last answer is taken as it is:
    /// the user wants to see it.
    func check(_ response: HTTPURLResponse, retryCount: Int) -> Result<Void, any Error> {
        guard retryCount < limit, RetryPolicy.defaultRetryableHTTPStatusCodes.contains(response.statusCode) else {
            return .success(())
        }
        return .failure(PassingStatus(status: response.statusCode))
    }

    struct PassingStatus: Error {
        let status: Int
    }
}
