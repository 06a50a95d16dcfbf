internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// Plans the requests of one transport, and caches the parts of plans that requests of one kind share.
final class RequestPlanner: Sendable {
    let configuration: TransportConfiguration
    let capabilities: Capabilities
    /// The exclusions of the transport's proxy; `nil` if it has none.
    private let exclusions: ProxyExclusions?
    /// `nil` if the transport cannot use alternative services.
    let alternatives: (any AlternativeServices)?
    let proxies: ProxyConnectionCredentials
    private let plans = Lock(CachedPlans())
    /// The end of every header list; `nil` if there is nothing to suppress. A line without a value keeps libcurl from
    /// adding the field itself, and is not sent.
    private let listEnd: CurlStringList?
    /// The list of the session's fields that was made last. Requests that have no cached plan share it.
    private let lastList = Lock<(headers: DefaultHeaders, list: CurlStringList)?>(nil)

    init(_ configuration: TransportConfiguration, _ environment: TransportPlan.Environment) {
        self.configuration = configuration
        capabilities = environment.capabilities
        listEnd = configuration.addsAccept ? nil : CurlStringList(lines: [RequestPlan.noAcceptLine])
        proxies = ProxyConnectionCredentials(
            configuration.proxy, environmentNamesProxy: environment.environmentNamesProxy)
        exclusions = ProxyPlan.exclusions(of: configuration.proxy)
        alternatives = HTTP3Plan.alternatives(configuration, environment)
    }

    // MARK: Planning

    /// Makes the plan of a request. The time is read for a signature alone.
    func plan(
        _ request: TransferRequest, for goal: RequestPlan.Goal = .exchange, bodyLength: Int64?,
        signedAt date: @autoclosure () -> Date = Date()
    ) throws(CurlewError) -> RequestPlan {
        let wire = try WireURL(request.url)
        let leavesOutProxy =
            if exclusions != nil || request.options.proxy != nil {
                try self.leavesOutProxy(request, wire.string)
            } else {
                false
            }
        var plan: RequestPlan
        // Nearly all requests of a session are of a few kinds, whose settings are computed once.
        if !leavesOutProxy, let key = PlanKey(request, isTLS: wire.isTLS),
            let cached = plans.withLock({ $0.plan(for: key, request.defaultHeaders) })
        {
            plan = RequestPlan(
                usualSettings: cached.settings,
                wire: wire,
                defaultHeaderList: cached.defaultHeaderList,
                mayBeResent: cached.mayBeResent,
                clocks: cached.clocks
            )
            plan.clocks.total = request.options.timeouts.total?.clampedNanoseconds
            // Other methods may need lines that no field asks for.
            if request.method != .get || !request.headers.isEmpty {
                try plan.planHeaders(request, configuration)
            }
        } else {
            plan = RequestPlan(wire: wire, clocks: TransferClocks(request.options.timeouts))
            plan.leavesOutProxy = leavesOutProxy
            try plan.planParts(request, self, bodyLength, signedAt: date)
        }
        if let resolver = configuration.dns.ownResolver {
            plan.question = try DNSPlan.question(
                for: resolver, configuration, wire,
                proxy: leavesOutProxy ? .none : request.options.proxy ?? configuration.proxy)
        }
        plan.goal = goal
        switch goal {
        case .exchange: break
        case .byteConnection: plan.planByteConnection()
        case .prewarming(let opensNew): try plan.planPrewarming(opensNew: opensNew, self)
        }
        // Last, because its result must be reported: nothing may fail between here and the transfer.
        if wire.isTLS, let alternatives, !alternatives.isEmpty,
            let route = route(for: request, wire, goal, among: alternatives)
        {
            plan.route = route
            // Added after signing, so a signature does not cover it.
            plan.headerLines.append(route.headerLine)
        }
        return plan
    }

    /// Returns the request's HTTP/3 route; `nil` if the request takes the usual route.
    private func route(
        for request: TransferRequest, _ wire: WireURL, _ goal: RequestPlan.Goal,
        among alternatives: any AlternativeServices
    ) -> PlannedRoute? {
        guard request.trailers == nil, HTTP3Plan.allows(request.options, capabilities) else { return nil }
        let mayTry: Bool
        switch goal {
        case .exchange: mayTry = true
        // Whether an alternative works is known only after an exchange.
        case .prewarming: mayTry = false
        case .byteConnection: return nil
        }
        let origin = SecureOrigin(host: wire.host, port: wire.port)
        return alternatives.route(to: origin, allowing: HTTP3Plan.freedom(configuration), mayTry: mayTry).map {
            PlannedRoute($0, of: alternatives, configuration, request.options.timeouts)
        }
    }

    /// Whether exclusions make the request bypass its proxy: the request's own, or else the transport's.
    private func leavesOutProxy(_ request: TransferRequest, _ url: String) throws(CurlewError) -> Bool {
        let applying = if let proxy = request.options.proxy { ProxyPlan.exclusions(of: proxy) } else { exclusions }
        guard let applying else { return false }
        return try ProxyPlan.excludes(url, applying)
    }

    // MARK: For the parts of plans

    /// Returns the list of a session's fields; `nil` if there are no fields and none to suppress.
    func headerList(of headers: DefaultHeaders?) throws(CurlewError) -> CurlStringList? {
        guard let headers else { return listEnd }
        if let last = lastList.withLock({ $0 }), last.headers === headers { return last.list }
        let list = CurlStringList(lines: try HeaderLines.lines(of: headers.headers), rest: listEnd)
        _ = lastList.withLock { exchange(&$0, with: (headers, list)) }
        return list
    }

    /// Caches a plan, without the request's own header lines, if other requests can have the same settings.
    func cache(_ plan: RequestPlan, for request: TransferRequest) {
        // A plan with DNS overrides has settings for one host only.
        guard configuration.dns.overrides.isEmpty, let key = PlanKey(request, isTLS: plan.isTLS) else { return }
        let new = CachedPlan(plan, for: key, request.defaultHeaders)
        plans.withLock { $0.add(new) }
    }
}

/// The values that determine the shared part of a plan, besides the transport and the session's fields.
struct PlanKey: Equatable, Sendable {
    private let isTLS: Bool
    private let method: HTTPMethod
    private let multiplexes: Bool
    private let decodesContent: Bool
    private let purpose: TransferPurpose
    private let trafficClass: TrafficClass
    private let uploadRateLimit: Int?
    private let downloadRateLimit: Int?
    /// Without the total timeout, which shrinks from attempt to attempt.
    private let timeouts: Timeouts

    /// `nil` if no other request can have the same settings: the request has a body, or its own credentials or proxy.
    init?(_ request: TransferRequest, isTLS: Bool) {
        let options = request.options
        guard !request.hasBody, !options.hasAuthentication, options.proxy == nil else { return nil }
        self.isTLS = isTLS
        method = request.method
        multiplexes = options.multiplexes
        decodesContent = options.decodesContent
        purpose = options.purpose
        trafficClass = options.trafficClass
        uploadRateLimit = options.uploadRateLimit
        downloadRateLimit = options.downloadRateLimit
        var timeouts = options.timeouts
        timeouts.total = nil
        self.timeouts = timeouts
    }
}

/// The part of a plan that all requests of one kind share.
final class CachedPlan: Sendable {
    let settings: [OptionValue]
    let clocks: TransferClocks
    let defaultHeaderList: CurlStringList?
    let mayBeResent: Bool
    fileprivate let key: PlanKey
    /// The fields of `defaultHeaderList`. Compared by identity; retained, so that no other object can get the same
    /// identity.
    fileprivate let defaultHeaders: DefaultHeaders?

    init(_ plan: RequestPlan, for key: PlanKey, _ defaultHeaders: DefaultHeaders?) {
        settings = plan.settings
        clocks = plan.clocks
        defaultHeaderList = plan.defaultHeaderList
        mayBeResent = plan.mayBeResent
        self.key = key
        self.defaultHeaders = defaultHeaders
    }
}

/// The cached plans of one transport. Every request searches them.
struct CachedPlans: Sendable {
    private var plans: [CachedPlan] = []
    /// The index of the plan that the next one replaces.
    private var next = 0

    /// Bounds the search if every request is of another kind.
    static let capacity = 8

    func plan(for key: PlanKey, _ defaultHeaders: DefaultHeaders?) -> CachedPlan? {
        for plan in plans where plan.defaultHeaders === defaultHeaders && plan.key == key { return plan }
        return nil
    }

    mutating func add(_ new: CachedPlan) {
        // Several requests of one kind may have been planned at the same time. The first one stored its plan.
        guard plan(for: new.key, new.defaultHeaders) == nil else { return }
        if let like = plans.firstIndex(where: { $0.key == new.key }) {
            // A redirect to another origin has other fields. Its plan must not replace one of another kind.
            plans[like] = new
        } else if plans.count < Self.capacity {
            plans.append(new)
        } else {
            plans[next] = new
            next = (next + 1) % Self.capacity
        }
    }
}
