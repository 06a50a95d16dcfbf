internal import CurlewCore

/// What the plans of one transport's requests have in common, and what was worked out for earlier ones.
final class RequestPlanner: Sendable {
    let configuration: TransportConfiguration
    let capabilities: Capabilities
    /// Those of the transport's proxy, where it has any.
    private let exclusions: ProxyExclusions?
    private let shapes = KnownShapes()
    private let lists = DefaultHeaderLists()

    init(_ configuration: TransportConfiguration, _ capabilities: Capabilities) {
        self.configuration = configuration
        self.capabilities = capabilities
        exclusions = ProxyPlan.exclusions(of: configuration.proxy)
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

    /// The prebuilt list of a session's fields.
    func list(of headers: DefaultHeaders) throws(CurlewError) -> HeaderList { try lists.list(for: headers) }
}
