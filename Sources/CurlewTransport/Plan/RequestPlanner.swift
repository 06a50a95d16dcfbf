internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// Plans the requests of one transport, and caches what requests of one kind have in common.
final class RequestPlanner: Sendable {
    let configuration: TransportConfiguration
    let capabilities: Capabilities
    /// The exclusions of the transport's proxy; `nil` if it has none.
    private let exclusions: ProxyExclusions?
    /// `nil` if the transport cannot use alternative services.
    let alternatives: (any AlternativeServices)?
    let proxies: ProxyConnectionCredentials
    private let hasResolver: Bool
    private let plans = CachedPlans()
    /// The end of every header list; `nil` if there is nothing to suppress. A line without a value keeps libcurl from
    /// adding the field itself, and is not sent.
    private let listEnd: HeaderList?
    /// The list of the session's fields that was made last. Requests that have no cached plan share it.
    private let lastList = Lock<(headers: DefaultHeaders, list: HeaderList)?>(nil)

    init(_ configuration: TransportConfiguration, _ environment: ConnectionPlan.Environment) {
        self.configuration = configuration
        capabilities = environment.capabilities
        listEnd = configuration.addsAccept ? nil : HeaderList(lines: [RequestPlan.noAcceptLine])
        proxies = ProxyConnectionCredentials(
            configuration.proxy, environmentNamesProxy: environment.environmentNamesProxy)
        exclusions = ProxyPlan.exclusions(of: configuration.proxy)
        hasResolver = configuration.dns.resolver != nil
        alternatives = HTTP3Plan.alternatives(configuration, environment)
    }

    /// Returns the request's HTTP/3 route; `nil` if the request takes the usual route.
    func route(for request: TransferRequest, _ wire: WireURL) -> PlannedRoute? {
        guard let alternatives, !alternatives.isEmpty, wire.isTLS, HTTP3Plan.allows(request.options, capabilities),
            let route = alternatives.route(
                to: SecureOrigin(host: wire.host, port: wire.port), allowing: HTTP3Plan.freedom(configuration))
        else { return nil }
        // The resolver is asked for the origin, and its answer says nothing about another host or port.
        if hasResolver, route.isElsewhere { return nil }
        return PlannedRoute(route, configuration, request.options.timeouts)
    }

    /// Returns the question for the configuration's resolver; `nil` if it has none, or is not to be asked.
    func question(for request: TransferRequest, _ wire: WireURL, leavesOutProxy: Bool) throws(CurlewError)
        -> HostQuestion?
    {
        guard hasResolver else { return nil }
        let proxy = leavesOutProxy ? .none : request.options.proxy ?? configuration.proxy
        return try DNSPlan.question(configuration, wire, proxy: proxy)
    }

    /// Whether exclusions make the request bypass its proxy: the request's own, or else the transport's.
    func leavesOutProxy(_ request: TransferRequest, _ url: String) throws(CurlewError) -> Bool {
        let applying = if let proxy = request.options.proxy { ProxyPlan.exclusions(of: proxy) } else { exclusions }
        guard let applying else { return false }
        return try ProxyPlan.excludes(url, applying)
    }

    /// Returns the list of a session's fields; `nil` if there are no fields and none to suppress.
    func list(of headers: DefaultHeaders?) throws(CurlewError) -> HeaderList? {
        guard let headers else { return listEnd }
        if let last = lastList.withLock({ $0 }), last.headers === headers { return last.list }
        let list = HeaderList(lines: try HeaderLines.lines(of: headers.headers), rest: listEnd)
        _ = lastList.withLock { exchange(&$0, with: (headers, list)) }
        return list
    }

    /// Returns the cached plan of requests like this one; `nil` if there is none.
    func cachedPlan(for request: TransferRequest, isTLS: Bool) -> CachedPlan? {
        guard case .none = request.body else { return nil }
        return plans.plan(for: request, isTLS: isTLS)
    }

    /// Caches a plan, without the request's own header lines, if other requests can have the same settings.
    func cache(_ plan: RequestPlan, for request: TransferRequest) {
        // A plan with DNS overrides has settings for one host only.
        guard configuration.dns.overrides.isEmpty, CachedPlan.isPossible(for: request) else { return }
        plans.add(plan, for: request)
    }
}

/// The part of a plan that all requests of one kind share, and everything besides the transport that determines it.
final class CachedPlan: Sendable {
    let settings: [OptionValue]
    let clocks: TransferClocks
    let defaultList: HeaderList?
    private let method: HTTPMethod
    private let isTLS: Bool
    private let options: TransferOptions
    /// Compared by identity; retained, so that no other object can get the same identity.
    private let defaultHeaders: DefaultHeaders?

    /// Whether other requests can have the same settings: the request has no body, no credentials and no proxy of its
    /// own.
    static func isPossible(for request: TransferRequest) -> Bool {
        guard case .none = request.body else { return false }
        return isPossible(with: request.options)
    }

    private static func isPossible(with options: TransferOptions) -> Bool {
        !options.hasAuthentication && options.proxy == nil
    }

    init(_ plan: RequestPlan, for request: TransferRequest) {
        settings = plan.settings
        clocks = plan.clocks
        defaultList = plan.defaultList
        method = request.method
        isTLS = plan.isTLS
        options = request.options
        defaultHeaders = request.defaultHeaders
    }

    /// Whether this is the plan of requests without a body that are like `request` and have the same default fields.
    func fits(_ request: TransferRequest, isTLS: Bool) -> Bool {
        defaultHeaders === request.defaultHeaders && isLike(request, isTLS: isTLS)
    }

    /// Whether this is the plan of requests without a body that are like `request`, whatever their default fields.
    fileprivate func isLike(_ request: TransferRequest, isTLS: Bool) -> Bool {
        self.isTLS == isTLS && method == request.method && hasSettings(of: request.options)
    }

    private func hasSettings(of other: TransferOptions) -> Bool {
        Self.isPossible(with: other) && options.multiplexes == other.multiplexes
            && options.decodesContent == other.decodesContent && options.purpose == other.purpose
            && options.trafficClass == other.trafficClass && options.uploadRateLimit == other.uploadRateLimit
            && options.downloadRateLimit == other.downloadRateLimit
            && hasTimeouts(of: other.timeouts)
    }

    /// Whether the timeouts are equal. The total timeout is ignored: it shrinks from attempt to attempt.
    private func hasTimeouts(of other: Timeouts) -> Bool {
        let own = options.timeouts
        return own.connect == other.connect && own.firstByte == other.firstByte && own.idle == other.idle
            && own.queue == other.queue
    }
}

/// The cached plans of one transport. Every request searches them, on any thread.
final class CachedPlans: Sendable {
    private struct State {
        var plans: [CachedPlan] = []
        /// The index of the plan that the next one replaces.
        var next = 0
    }

    /// Bounds the search if every request is of another kind.
    static let capacity = 8

    private let state = Lock(State())

    func plan(for request: TransferRequest, isTLS: Bool) -> CachedPlan? {
        state.withLock { state in state.plans.first { $0.fits(request, isTLS: isTLS) } }
    }

    func add(_ plan: RequestPlan, for request: TransferRequest) {
        // The replaced plan is released outside the lock: its options hold the user's objects, whose deinit may run any
        // code.
        _ = state.withLock { state -> CachedPlan? in
            // Several requests of one kind may have been planned at the same time. The first one stored its plan.
            guard !state.plans.contains(where: { $0.fits(request, isTLS: plan.isTLS) }) else { return nil }
            let new = CachedPlan(plan, for: request)
            // A redirect to another origin has fields of its own. Its plan must not replace one of another kind.
            if let like = state.plans.firstIndex(where: { $0.isLike(request, isTLS: plan.isTLS) }) {
                return exchange(&state.plans[like], with: new)
            }
            if state.plans.count < Self.capacity {
                state.plans.append(new)
                return nil
            }
            let replaced = exchange(&state.plans[state.next], with: new)
            state.next = (state.next + 1) % Self.capacity
            return replaced
        }
    }
}

/// Formats header fields for libcurl. A field that could forge a second one is rejected.
enum HeaderLines {
    /// Only the transport sets the fields of framing: a caller's value could contradict the body that is sent.
    private static func isFraming(_ name: String) -> Bool {
        switch name.utf8.count {
        case 14: ASCII.equalsIgnoringCase(name, "Content-Length")
        case 17: ASCII.equalsIgnoringCase(name, "Transfer-Encoding")
        default: false
        }
    }

    static func lines(of headers: HTTPHeaders, where isWanted: (String) -> Bool = { _ in true })
        throws(CurlewError) -> [String]
    {
        var lines: [String] = []
        lines.reserveCapacity(headers.count + 2)
        for field in headers {
            guard field.isValid else { throw CurlewError.invalidHeader(field) }
            if isFraming(field.name) || !isWanted(field.name) { continue }
            lines.append(line(of: field))
        }
        return lines
    }

    /// `Name;` is libcurl's form of a field with an empty value. `Name:` would remove the field.
    private static func line(of field: HTTPHeader) -> String {
        let isBlank = field.value.utf8.allSatisfy { $0 == 0x20 || $0 == 0x09 }
        return isBlank ? field.name + ";" : field.name + ": " + field.value
    }
}
