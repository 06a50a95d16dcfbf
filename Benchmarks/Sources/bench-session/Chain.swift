internal import Curlew
internal import Dispatch
internal import Foundation
internal import FoundationNetworking

/// Interceptors and monitors that do nothing, to measure the cost of calling them.
enum Chain {
    static func add(to request: DataRequest) {
        for _ in 0..<10 { request.adapt(using: SilentInterceptor()) }
        request.retry(using: SilentInterceptor())
    }

    static func monitors() -> [any EventMonitor] { (1...3).map { SilentMonitor(number: $0) } }
}

private struct SilentInterceptor: RequestInterceptor {
    func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest { urlRequest }

    func retry(_ request: Request, for session: Session, dueTo error: CurlewError) async -> RetryResult { .doNotRetry }
}

/// Receives every event and does nothing.
private final class SilentMonitor: EventMonitor {
    let queue: DispatchQueue

    init(number: Int) { queue = DispatchQueue(label: "bench.monitor.\(number)") }
}
