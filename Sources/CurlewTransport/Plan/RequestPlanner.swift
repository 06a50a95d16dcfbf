internal import CurlewCore
internal import CurlewLocks

/// What the plans of one transport's requests have in common, and what was worked out for earlier ones.
final class RequestPlanner: Sendable {
    let configuration: TransportConfiguration
    let capabilities: Capabilities
    private let shapes = Lock(Shapes())

    /// What all requests of one shape have in common.
    final class Known: Sendable {
        let settings: [OptionValue]
        let clocks: TransferClocks
        let isIdempotent: Bool

        init(settings: [OptionValue], clocks: TransferClocks, isIdempotent: Bool) {
            self.settings = settings
            self.clocks = clocks
            self.isIdempotent = isIdempotent
        }
    }

    private struct Shapes {
        var entries: [(shape: RequestShape, known: Known)] = []
        var next = 0

        /// A session has few; what differs each time must not make the search long.
        static let capacity = 8
    }

    init(_ configuration: TransportConfiguration, _ capabilities: Capabilities) {
        self.configuration = configuration
        self.capabilities = capabilities
    }

    func known(_ shape: RequestShape) -> Known? {
        shapes.withLock { shapes in
            for entry in shapes.entries where entry.shape == shape { return entry.known }
            return nil
        }
    }

    func keep(_ plan: RequestPlan, for shape: RequestShape, isIdempotent: Bool) {
        // Addresses given for a host are settings of that host's requests only.
        guard configuration.dns.overrides.isEmpty else { return }
        let known = Known(settings: plan.settings, clocks: plan.clocks, isIdempotent: isIdempotent)
        shapes.withLock { shapes in
            if shapes.entries.count < Shapes.capacity { return shapes.entries.append((shape, known)) }
            shapes.entries[shapes.next] = (shape, known)
            shapes.next = (shapes.next + 1) % Shapes.capacity
        }
    }
}

/// What the settings of a request without body depend on, beside its transport.
struct RequestShape: Equatable, Sendable {
    private let method: HTTPMethod
    private let isTLS: Bool
    private let multiplexes: Bool
    private let decodesContent: Bool
    private let purpose: TransferPurpose
    private let trafficClass: TrafficClass
    private let uploadRateLimit: Int?
    private let downloadRateLimit: Int?
    /// Without the total, which shrinks from try to try.
    private let timeouts: Timeouts

    /// nil where the settings are the request's own.
    init?(_ request: __shared TransferRequest, isTLS: Bool) {
        guard case .none = request.body, request.options.authentication == nil, request.options.proxy == nil else {
            return nil
        }
        method = request.method
        self.isTLS = isTLS
        multiplexes = request.options.multiplexes
        decodesContent = request.options.decodesContent
        purpose = request.options.purpose
        trafficClass = request.options.trafficClass
        uploadRateLimit = request.options.uploadRateLimit
        downloadRateLimit = request.options.downloadRateLimit
        var timeouts = request.options.timeouts
        timeouts.total = nil
        self.timeouts = timeouts
    }
}
