import CurlewCore
import CurlewLocks
import CurlewTransport
import Foundation

/// Sends requests without end: one transport makes new TLS connections, another one streams of one connection.
final class Load: Sendable {
    private let url: URL
    private let transports: [CurlTransport]
    private let ended = Lock(0)

    init(url: URL, authority: URL) {
        self.url = url
        transports = [HTTPVersionPolicy.http1_1, .automatic].map {
            var configuration = TransportConfiguration()
            configuration.proxy = .none
            configuration.tls.trustRoots = .file(authority)
            configuration.httpVersion = $0
            return CurlTransport(configuration: configuration)
        }
    }

    var count: Int { ended.withLock { $0 } }

    func start() {
        for (index, transport) in transports.enumerated() {
            for worker in 0..<6 {
                Task.detached { [self] in
                    var number = UInt64(index * 6 + worker)
                    while true {
                        let headers: HTTPHeaders = index == 0 ? ["Connection": "close"] : [:]
                        number += 12
                        let request = TransferRequest(
                            identifier: TaskIdentifier(rawValue: number), url: url, headers: headers)
                        _ = try? await transport.perform(request, sink: Discarding())
                        ended.withLock { $0 += 1 }
                    }
                }
            }
        }
    }
}

final class Discarding: TransferSink {
    func didReceive(body: UnsafeRawBufferPointer) -> Disposition { .proceed }
}
