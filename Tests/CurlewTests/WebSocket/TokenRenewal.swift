internal import CurlewCore
internal import Foundation
internal import FoundationNetworking

@testable import Curlew
@testable import CurlewTesting

extension RequestInterceptor where Self == Interceptor {
    /// Sends `token` with every request. A 401 changes it to "new" and sends the request again.
    static func renewing(_ token: Watched<String>) -> Interceptor {
        Interceptor(
            adapter: Adapter { request, _ in
                var request = request
                request.headers.add(.authorization(bearerToken: token.value))
                return request
            },
            retrier: Retrier { _, _, error in
                guard error.responseCode == 401 else { return .doNotRetry }
                token.change { $0 = "new" }
                return .retry
            })
    }
}
