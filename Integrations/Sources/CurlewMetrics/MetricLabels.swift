public import Curlew
internal import Foundation
internal import FoundationNetworking
internal import Synchronization

/// The dimensions of `MetricsMonitor` and `ConnectionMetrics`, with OpenTelemetry's names.
///
/// | dimension | values |
/// |---|---|
/// | `http.request.method` | the methods of RFC 9110, `PATCH` and `QUERY`; `_OTHER` for any other |
/// | `url.template` | what `Request.urlTemplate(_:)` has set; empty for redirects; `_OTHER` after `templateLimit` templates |
/// | `server.address`, `server.port` | the origin, or what `address` makes of it; `_OTHER` after `originLimit` origins |
/// | `http.response.status_code` | a registered status; the class of any other, such as `4xx`; `_OTHER` from 600 |
/// | `error.type` | the code of the `CurlewError`, or a status from 400 in the same form |
/// | `network.protocol.version` | `1.0`, `1.1`, `2` or `3` |
/// | `curlew.attempt` | `1`, `2`, or `3+` |
/// | `curlew.cache` | the part that the cache had |
///
/// A metric always has the same dimensions, because some backends refuse others. One without a value is empty, for instance
/// the status of a request that failed. Paths, queries and header fields are never part of a dimension.
///
/// Copies share the sets of origins and templates that have labels, so a label that one copy adds counts for all of them.
public struct MetricLabels: Sendable {
    /// Returns the `server.address` of an origin, to combine hosts that are one service, such as those of tenants. The
    /// default is its host.
    public var address: @Sendable (ConnectionSnapshot.Origin) -> String = { $0.host }
    /// The number of different origins. Metrics of further origins are recorded as `_OTHER`, so that URLs from users cannot
    /// fill the memory of the metrics backend.
    public var originLimit = 100
    /// The number of different templates. Requests with further ones are recorded as `_OTHER`, so that a template with the
    /// parameters' values in it cannot fill the memory either.
    public var templateLimit = 200
    private let origins = KnownNames()
    private let templates = KnownNames()

    /// Creates the default labels.
    public init() {}

    /// Returns the dimensions that are known when a request is sent.
    func sent(_ request: URLRequest?, template: String?) -> [Dimension] {
        let method = request?.httpMethod ?? "GET"
        var template = template ?? ""
        if !template.isEmpty, !templates.admits(template, limit: templateLimit) { template = "_OTHER" }
        return [
            Dimension("http.request.method", Self.methods.contains(method) ? method : "_OTHER"),
            Dimension("url.template", template),
        ] + server(request?.url.flatMap(ConnectionSnapshot.Origin.init))
    }

    /// Returns the dimensions of an origin.
    func server(_ origin: ConnectionSnapshot.Origin?) -> [Dimension] {
        var (name, port) = ("", "")
        if let origin { (name, port) = (address(origin), String(origin.port)) }
        if !origins.admits("\(name):\(port)", limit: originLimit) { (name, port) = ("_OTHER", "") }
        return [Dimension("server.address", name), Dimension("server.port", port)]
    }

    /// Returns the dimensions that are known when a request has ended.
    func result(status: Int?, error: CurlewError?, _ metrics: TransferMetrics) -> [Dimension] {
        let statusText = status.map(Self.label) ?? ""
        let errorType = error?.code.rawValue ?? ((status ?? 0) >= 400 ? statusText : "")
        return [
            Dimension("http.response.status_code", statusText),
            Dimension("error.type", errorType),
            Dimension("network.protocol.version", metrics.httpVersion?.number ?? ""),
            Dimension("curlew.attempt", metrics.attempt < 2 ? String(metrics.attempt + 1) : "3+"),
            Dimension("curlew.cache", metrics.cacheStatus?.label ?? ""),
        ]
    }

    private static let methods: Set = [
        "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE",
    ]

    /// Returns a registered status, or else its class. The server chooses the status, so others are unbounded.
    private static func label(of status: Int) -> String {
        if statuses.contains(status) { return String(status) }
        return (100...599).contains(status) ? "\(status / 100)xx" : "_OTHER"
    }

    /// The statuses that IANA has registered.
    private static let statuses = Set(
        [Array(100...104), Array(200...208), [226], Array(300...305), [307, 308], Array(400...417)].joined()
    ).union([421, 422, 423, 424, 425, 426, 428, 429, 431, 451]).union(Array(500...508) + [510, 511])

    /// The origins, or the templates, that have a label.
    private final class KnownNames: Sendable {
        private let names = Mutex<Set<String>>([])

        func admits(_ name: String, limit: Int) -> Bool {
            names.withLock { names in
                if names.contains(name) { return true }
                guard names.count < limit else { return false }
                return names.insert(name).inserted
            }
        }
    }
}

/// A dimension's name and value.
struct Dimension: Hashable, Sendable {
    let name: String
    let value: String

    init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }
}

extension HTTPVersion {
    /// OpenTelemetry's `network.protocol.version`.
    fileprivate var number: String { String(rawValue.dropFirst("HTTP/".count)) }
}

extension CacheStatus {
    /// The status without its reason.
    fileprivate var label: String {
        switch self {
        case .hit: "hit"
        case .miss: "miss"
        case .revalidated: "revalidated"
        case .stale: "stale"
        case .collapsed: "collapsed"
        case .bypassed: "bypassed"
        }
    }
}
