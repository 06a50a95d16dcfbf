internal import BenchmarkSupport
internal import Curlew
internal import Foundation

extension Arguments {
    /// A session without a proxy, which trusts the roots of `ca`.
    func session() -> Session {
        let roots = self["ca"]
        return Session(
            configuration: SessionConfiguration {
                $0.proxy = .none
                if let roots { $0.tls.trustRoots = .file(URL(fileURLWithPath: roots)) }
            }
        )
    }
}
