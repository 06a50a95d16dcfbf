internal import CurlewCore
internal import Foundation
internal import FoundationNetworking

@testable import Curlew
@testable import CurlewTesting

extension RequestInterceptor where Self == Interceptor {
    /// Sends `token` with every request; a 401 makes it "new" and sends the request again.
    static func renewing(_ token: Watched<String>) -> Interceptor {
        Interceptor(
            adaptHandler: { request, _, completion in
                var request = request
                request.headers.update(.authorization(bearerToken: token.value))
                completion(.success(request))
            },
            retryHandler: { _, _, error, completion in
                guard (error as? CurlewError)?.responseCode == 401 else { return completion(.doNotRetry) }
                token.change { $0 = "new" }
                completion(.retry)
            })
    }
}
