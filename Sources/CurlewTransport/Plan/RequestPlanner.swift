internal import CurlewCore
internal import Foundation

/// Plans the requests of one transport, and caches the settings of frequent shapes.
final class RequestPlanner: Sendable {
    let configuration: TransportConfiguration
    let capabilities: Capabilities
    /// The exclusions of the transport's proxy; `nil` if it has none.
    private let exclusions: ProxyExclusions?
    /// `nil` if the transport cannot use alternative services.
    let alternatives: (any AlternativeServices)?
    private let shapes = KnownShapes()
    private let lists: DefaultHeaderLists
    let proxies: ProxyConnectionCredentials

    init(_ configuration: TransportConfiguration, _ surroundings: ConnectionPlan.Surroundings) {
        self.configuration = configuration
        capabilities = surroundings.capabilities
        lists = DefaultHeaderLists(
            end: configuration.addsAccept ? nil : HeaderList(lines: [RequestPlan.noAcceptLine]))
        proxies = ProxyConnectionCredentials(
            configuration.proxy, environmentNamesProxy: surroundings.environmentNamesProxy)
        exclusions = ProxyPlan.exclusions(of: configuration.proxy)
        alternatives = HTTP3Plan.alternatives(configuration, surroundings)
    }

    /// Returns the request's HTTP/3 route; `nil` if the request takes the usual route.
    func route(for request: TransferRequest, _ wire: WireURL) -> PlannedRoute? {
        guard let alternatives, !alternatives.isEmpty, wire.isTLS, HTTP3Plan.allows(request.options, capabilities),
            let route = alternatives.route(
                to: SecureOrigin(host: wire.host, port: wire.port), allowing: HTTP3Plan.freedom(configuration))
        else { return nil }
        return PlannedRoute(route, configuration, request.options.timeouts)
    }

    /// Whether exclusions make the request bypass its proxy: the request's own, or else the transport's.
    func leavesOutProxy(_ request: TransferRequest, _ url: String) throws(CurlewError) -> Bool {
        let applying = if let proxy = request.options.proxy { ProxyPlan.exclusions(of: proxy) } else { exclusions }
        guard let applying else { return false }
        return try ProxyPlan.excludes(url, applying)
    }

    func known(_ request: TransferRequest, isTLS: Bool) -> KnownShape? {
        guard case .none = request.body else { return nil }
        return shapes.find(request, isTLS: isTLS)
    }

    func keep(_ plan: RequestPlan, for request: TransferRequest) {
        // A plan with DNS overrides has settings for one host only.
        guard configuration.dns.overrides.isEmpty, RequestShape.isShared(request) else { return }
        shapes.keep(plan, for: request)
    }

    /// Returns the prebuilt list of a session's fields; `nil` if there are no fields and none to suppress.
    func list(of headers: DefaultHeaders?) throws(CurlewError) -> HeaderList? { try lists.list(for: headers) }
}
