internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import Synchronization

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

    init(_ configuration: TransportConfiguration, _ environment: ConnectionPlan.Environment) {
        self.configuration = configuration
        capabilities = environment.capabilities
        lists = DefaultHeaderLists(
            end: configuration.addsAccept ? nil : HeaderList(lines: [RequestPlan.noAcceptLine]))
        proxies = ProxyConnectionCredentials(
            configuration.proxy, environmentNamesProxy: environment.environmentNamesProxy)
        exclusions = ProxyPlan.exclusions(of: configuration.proxy)
        alternatives = HTTP3Plan.alternatives(configuration, environment)
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

/// The part of a plan that all requests of one shape share.
final class KnownShape: Sendable {
    let settings: [OptionValue]
    let clocks: TransferClocks
    let isIdempotent: Bool
    /// The default headers of the request that the shape was made from. Compared by identity; retained, so that no
    /// other object can get the same identity.
    let defaultHeaders: DefaultHeaders?
    let defaultList: HeaderList?
    fileprivate let shape: RequestShape
    /// The shape that was added before this one, the next element of the chain that starts at `KnownShapes.latest`.
    // SAFETY: as `KnownShapes.latest`.
    fileprivate let earlier: Unmanaged<KnownShape>?

    fileprivate init(_ plan: RequestPlan, of request: TransferRequest, earlier: Unmanaged<KnownShape>?) {
        settings = plan.settings
        clocks = plan.clocks
        isIdempotent = request.method.isIdempotent
        defaultHeaders = request.defaultHeaders
        defaultList = plan.defaultList
        shape = RequestShape(request, isTLS: plan.isTLS)
        self.earlier = earlier
    }
}

/// A cache of the shapes of one transport's requests.
///
/// Every request searches the cache, on any thread. The first shapes stay for the life of the transport and form a
/// chain that is read without a lock. Later shapes replace each other.
final class KnownShapes: Sendable {
    private struct State {
        var staying: [KnownShape] = []
        var passing: [KnownShape] = []
        var next = 0
    }

    /// The maximum of each kind. Bounds the search if every request has another shape.
    private static let capacity = 4

    private let state = Lock(State())
    // A shape's `earlier` never changes after it was stored, so the rest of the chain needs no ordering.
    // SAFETY: `state` retains the shapes, and each `earlier`, as long as this object lives. The address is stored with
    // release order and read with acquire order, so a reader sees the shape initialized on weakly ordered processors.
    private let latest = Atomic<Unmanaged<KnownShape>?>(nil)

    func find(_ request: TransferRequest, isTLS: Bool) -> KnownShape? {
        var candidate = latest.load(ordering: .acquiring)
        while let known = candidate {
            // SAFETY: as `latest`.
            if known._withUnsafeGuaranteedRef({ $0.shape.isThat(of: request, isTLS: isTLS) }) {
                return known.takeUnretainedValue()
            }
            candidate = known._withUnsafeGuaranteedRef { $0.earlier }
        }
        return state.withLock { $0.passing }.first { $0.shape.isThat(of: request, isTLS: isTLS) }
    }

    func keep(_ plan: RequestPlan, for request: TransferRequest) {
        // The replaced shape is released outside the lock: its options hold the user's objects, whose deinit may run
        // any code.
        _ = state.withLock { state -> KnownShape? in
            // Several requests of one shape may have been planned at the same time. The first one stored its plan.
            let isThat = { (known: KnownShape) in known.shape.isThat(of: request, isTLS: plan.isTLS) }
            guard !state.staying.contains(where: isThat), !state.passing.contains(where: isThat) else { return nil }
            if state.staying.count < Self.capacity {
                // SAFETY: as `latest`.
                let known = KnownShape(plan, of: request, earlier: state.staying.last.map { .passUnretained($0) })
                state.staying.append(known)
                latest.store(.passUnretained(known), ordering: .releasing)
            } else if state.passing.count < Self.capacity {
                state.passing.append(KnownShape(plan, of: request, earlier: nil))
            } else {
                let gone = state.passing[state.next]
                state.passing[state.next] = KnownShape(plan, of: request, earlier: nil)
                state.next = (state.next + 1) % Self.capacity
                return gone
            }
            return nil
        }
    }
}

/// Everything besides the transport that determines the settings of a request without a body.
struct RequestShape: Sendable {
    private let method: HTTPMethod
    private let isTLS: Bool
    private let options: TransferOptions
    private let hasDefaultHeaders: Bool

    /// Whether other requests can have the same settings: the request has no body, no credentials and no proxy of its
    /// own.
    static func isShared(_ request: TransferRequest) -> Bool {
        guard case .none = request.body else { return false }
        return isShared(request.options)
    }

    private static func isShared(_ options: TransferOptions) -> Bool {
        !options.hasAuthentication && options.proxy == nil
    }

    init(_ request: TransferRequest, isTLS: Bool) {
        method = request.method
        self.isTLS = isTLS
        options = request.options
        hasDefaultHeaders = request.defaultHeaders != nil
    }

    func isThat(of request: TransferRequest, isTLS: Bool) -> Bool {
        self.isTLS == isTLS && hasDefaultHeaders == (request.defaultHeaders != nil) && method == request.method
            && (options.isCopy(of: request.options) || hasSettings(of: request.options))
    }

    private func hasSettings(of other: TransferOptions) -> Bool {
        Self.isShared(other) && options.multiplexes == other.multiplexes
            && options.decodesContent == other.decodesContent && options.purpose == other.purpose
            && options.trafficClass == other.trafficClass && options.uploadRateLimit == other.uploadRateLimit
            && options.downloadRateLimit == other.downloadRateLimit
            && hasClocks(of: other.timeouts)
    }

    /// Whether the timeouts are equal. The total timeout is ignored: it shrinks from attempt to attempt.
    private func hasClocks(of other: Timeouts) -> Bool {
        let own = options.timeouts
        return own.connect == other.connect && own.firstByte == other.firstByte && own.idle == other.idle
            && own.queue == other.queue
    }
}

/// Caches the header list of each session that uses a transport. The identity of the session's headers is the key.
final class DefaultHeaderLists: Sendable {
    private struct Entry {
        // Retained, so that no other object can get the same identity.
        let headers: DefaultHeaders
        let list: HeaderList
    }

    private let entries = Lock<[Entry]>([])
    /// The tail of every list; `nil` if there is nothing to suppress. A line without a value keeps libcurl from adding
    /// the field itself, and is not sent.
    private let end: HeaderList?

    init(end: HeaderList?) { self.end = end }

    // Most transports serve one session.
    private static let capacity = 16

    func list(for headers: DefaultHeaders?) throws(CurlewError) -> HeaderList? {
        guard let headers else { return end }
        if let known = entries.withLock({ $0.first { $0.headers === headers }?.list }) { return known }
        let made = HeaderList(lines: try HeaderLines.lines(of: headers.headers), rest: end)
        entries.withLock { entries in
            if entries.count >= Self.capacity { entries.removeFirst() }
            entries.append(Entry(headers: headers, list: made))
        }
        return made
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
