internal import CurlewCore
internal import Foundation

/// What the plans of one transport's requests have in common, and what was worked out for earlier ones.
final class RequestPlanner: Sendable {
    let configuration: TransportConfiguration
    let capabilities: Capabilities
    /// Those of the transport's proxy, where it has any.
    private let exclusions: ProxyExclusions?
    /// nil where no alternative can be used.
    private let alternatives: (any AlternativeServices)?
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

    /// The way by HTTP/3 that the request takes, where there is one.
    func route(for request: TransferRequest, _ wire: WireURL) -> PlannedRoute? {
        guard let alternatives, !alternatives.isEmpty, wire.isTLS, HTTP3Plan.allows(request.options, capabilities),
            let route = alternatives.route(
                to: SecureOrigin(host: wire.host, port: wire.port), allowing: HTTP3Plan.freedom(configuration))
        else { return nil }
        return PlannedRoute(route, configuration, request.options.timeouts)
    }

    /// Whether the request goes past the proxy that others of its transport, or of its own choice, go through.
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
        // Addresses given for a host are settings of that host's requests only.
        guard configuration.dns.overrides.isEmpty, RequestShape.isShared(request) else { return }
        shapes.keep(plan, for: request)
    }

    /// The prebuilt list of a session's fields; nil where a request has neither them nor something to leave out.
    func list(of headers: DefaultHeaders?) throws(CurlewError) -> HeaderList? { try lists.list(for: headers) }
}
