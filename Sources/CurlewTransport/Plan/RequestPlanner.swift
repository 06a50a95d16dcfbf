internal import CurlewCore
internal import CurlewLocks

/// What the plans of one transport's requests have in common, and what was worked out for earlier ones.
final class RequestPlanner: Sendable {
    let configuration: TransportConfiguration
    let capabilities: Capabilities
    private let shapes = Lock(Shapes())
    private let lists = DefaultHeaderLists()

    /// What all requests of one shape have in common.
    final class Known: Sendable {
        fileprivate let shape: RequestShape
        let settings: [OptionValue]
        let clocks: TransferClocks
        let isIdempotent: Bool
        let defaultList: HeaderList?

        fileprivate init(_ shape: RequestShape, _ plan: RequestPlan, isIdempotent: Bool) {
            self.shape = shape
            settings = plan.settings
            clocks = plan.clocks
            defaultList = plan.defaultList
            self.isIdempotent = isIdempotent
        }
    }

    private struct Shapes {
        var entries: [Known] = []
        var next = 0

        /// A session has few; what differs each time must not make the search long.
        static let capacity = 8
    }

    init(_ configuration: TransportConfiguration, _ capabilities: Capabilities) {
        self.configuration = configuration
        self.capabilities = capabilities
    }

    func known(_ request: TransferRequest, isTLS: Bool) -> Known? {
        guard case .none = request.body else { return nil }
        // Searched outside the lock, which would want the request copied.
        let entries = shapes.withLock { $0.entries }
        return entries.first { $0.shape.isThat(of: request, isTLS: isTLS) }
    }

    func keep(_ plan: RequestPlan, for request: TransferRequest) {
        // Addresses given for a host are settings of that host's requests only.
        guard configuration.dns.overrides.isEmpty, RequestShape.isShared(request) else { return }
        let shape = RequestShape(request, isTLS: plan.isTLS)
        let known = Known(shape, plan, isIdempotent: request.method.isIdempotent)
        shapes.withLock { shapes in
            if shapes.entries.count < Shapes.capacity { return shapes.entries.append(known) }
            shapes.entries[shapes.next] = known
            shapes.next = (shapes.next + 1) % Shapes.capacity
        }
    }

    /// The prebuilt list of a session's fields.
    func list(of headers: DefaultHeaders) throws(CurlewError) -> HeaderList { try lists.list(for: headers) }
}

/// What the settings of a request without body depend on, beside its transport.
private struct RequestShape: Sendable {
    private let method: HTTPMethod
    private let isTLS: Bool
    private let options: TransferOptions
    /// By identity; kept, so that it is not given to another object.
    private let defaultHeaders: DefaultHeaders?

    /// Whether there is nothing in the settings that is the request's own.
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
        defaultHeaders = request.defaultHeaders
    }

    func isThat(of request: TransferRequest, isTLS: Bool) -> Bool {
        self.isTLS == isTLS && defaultHeaders === request.defaultHeaders && method == request.method
            && (options.isCopy(of: request.options) || hasSettings(of: request.options))
    }

    private func hasSettings(of other: TransferOptions) -> Bool {
        Self.isShared(other) && options.multiplexes == other.multiplexes
            && options.decodesContent == other.decodesContent && options.purpose == other.purpose
            && options.trafficClass == other.trafficClass && options.uploadRateLimit == other.uploadRateLimit
            && options.downloadRateLimit == other.downloadRateLimit
            && hasClocks(of: other.timeouts)
    }

    /// The total does not count: it shrinks from try to try.
    private func hasClocks(of other: Timeouts) -> Bool {
        let own = options.timeouts
        return own.connect == other.connect && own.firstByte == other.firstByte && own.idle == other.idle
            && own.queue == other.queue
    }
}
