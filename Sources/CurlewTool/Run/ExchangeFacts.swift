internal import Curlew

/// The metadata that `--print=m` shows.
enum ExchangeFacts {
    static func rows(
        _ head: ResponseHead?, _ metrics: TransferMetrics?, elapsed: Double
    ) -> [(name: String, value: String)] {
        var rows: [(name: String, value: String)] = []
        if let head { rows.append(("Status", String(head.status))) }
        rows.append(("Elapsed time", Amount.time(elapsed)))
        guard let metrics else { return rows }
        if let cache = metrics.cacheStatus { rows.append(("Cache", cache.description)) }
        if let version = metrics.httpVersion { rows.append(("Protocol", version.rawValue)) }
        if let address = metrics.remoteAddress { rows.append(("Remote address", address)) }
        if let version = metrics.tlsVersion {
            rows.append(("TLS", version + (metrics.tlsCipher.map { ", \($0)" } ?? "")))
        }
        rows.append(("Sent", Amount.bytes(metrics.bytesSent)))
        rows.append(("Received", Amount.bytes(metrics.bytesReceived)))
        if !metrics.redirects.isEmpty { rows.append(("Redirects", String(metrics.redirects.count))) }
        if metrics.attempt > 0 { rows.append(("Attempts", String(metrics.attempt + 1))) }
        return rows
    }
}
