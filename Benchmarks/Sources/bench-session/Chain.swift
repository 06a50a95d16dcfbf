internal import Curlew
internal import Dispatch
internal import Foundation
internal import FoundationNetworking

/// What an application may hang onto its requests, without any work in it: what remains is Curlew's own share.
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

/// Listens to everything and does nothing.
private final class SilentMonitor: EventMonitor {
    let queue: DispatchQueue

    init(number: Int) { queue = DispatchQueue(label: "bench.monitor.\(number)") }
}
