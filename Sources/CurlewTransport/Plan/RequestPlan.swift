internal import CCurl
internal import CurlewCore
internal import Foundation

/// What one request asks of its easy handle, worked out in the caller's task without touching libcurl.
struct RequestPlan: Sendable {
    /// How the body goes to libcurl.
    enum Body: Equatable, Sendable {
        case none
        /// Small and in memory: libcurl sends it with the head, in one piece.
        case fields(Data)
        /// Read piece by piece; nil is an unknown length.
        case upload(Int64?)
    }

    /// Options beside URL, header list and body. Two requests with equal settings can follow each other
    /// on one handle without a reset.
    var settings: [OptionValue] {
        let settings = known?.settings ?? ownSettings
        // Later options win.
        return if let route { settings + route.settings } else { settings }
    }
    /// By HTTP/3 instead; nil is the usual way.
    private(set) var route: PlannedRoute?
    /// What was worked out for all requests of its shape: one reference in place of what it holds, which tasks on all
    /// threads would count.
    private var known: KnownShape?
    private var ownSettings: [OptionValue] = []
    /// A handle must not carry anything from an earlier request (authentication state), nor on to a later one.
    var needsOwnHandle = false
    /// The request has a connection that no other request uses, before or after: see `goAlone`.
    private(set) var isAlone = false
    /// The request has to leave the shared connection if the server offers to authenticate the connection.
    private(set) var goesAloneIfOffered = false
    /// Whether libcurl closes the connection after the request.
    var closesConnection: Bool { closesOwnConnection || known?.closesConnection == true }
    private var closesOwnConnection = false
    /// No request is sent: see `onlyConnect`.
    private(set) var connectsOnly = false
    private(set) var wire: WireURL
    var url: String { wire.string }
    var host: String { wire.host }
    var isTLS: Bool { wire.isTLS }
    var headerLines: [String] = []
    /// The session's prebuilt header list, where it can follow `headerLines` as it is.
    var defaultList: HeaderList? { overlaysDefaults ? nil : ownDefaultList ?? known?.defaultList }
    /// Where it is not that of its shape.
    private var ownDefaultList: HeaderList?
    /// `headerLines` has the session's fields as well, without those that the request replaces.
    private var overlaysDefaults = false
    var body: Body = .none
    var sendsExpect = false
    var mayBeResent = true
    /// The exclusions of the proxy that would be used leave this request out.
    private(set) var leavesOutProxy = false

    /// Below this a body travels in one piece; above it is read so that progress and clocks see it.
    static let piecewiseThreshold = 64 * 1024
    /// RFC 9110 10.1.1: worth a round trip only where the body is worth more.
    static let expectThreshold: Int64 = 1024 * 1024
    static let expectLine = "Expect: 100-continue"
    /// Keeps libcurl from adding it.
    static let noExpectLine = "Expect:"
    static let noAcceptLine = "Accept:"

    /// The request's clocks, not yet running.
    var clocks: TransferClocks

    /// The plan of a request.
    // Put together in one piece where it can be: what is changed after that is copied when it is returned.
    static func of(_ request: TransferRequest, planner: RequestPlanner, bodyLength: Int64?) throws(CurlewError)
        -> RequestPlan
    {
        let wire = try WireURL(request.url)
        var plan = try usual(request, wire, planner, bodyLength)
        if let route = planner.route(for: request, wire) { plan.take(route) }
        return plan
    }

    private static func usual(
        _ request: TransferRequest,
        _ wire: WireURL,
        _ planner: RequestPlanner,
        _ bodyLength: Int64?
    ) throws(CurlewError) -> RequestPlan {
        let leavesOutProxy = try planner.leavesOutProxy(request, wire.string)
        // Nearly all requests of a session have one of a few shapes: what a shape means is worked out once.
        guard !leavesOutProxy, let known = planner.known(request, isTLS: wire.isTLS) else {
            var plan = RequestPlan(wire: wire, clocks: TransferClocks(request.options.timeouts))
            plan.leavesOutProxy = leavesOutProxy
            try plan.planAnew(request, planner, bodyLength)
            return plan
        }
        if request.hasOnlyDefaultHeaders, known.defaultHeaders === request.defaultHeaders {
            return RequestPlan(request, wire, known)
        }
        var plan = RequestPlan(request, wire, known)
        // The session's fields have changed since, or this is another session of the same transport.
        if let headers = request.defaultHeaders, headers !== known.defaultHeaders {
            plan.ownDefaultList = try planner.list(of: headers)
        }
        if !request.hasOnlyDefaultHeaders { try plan.planHeaders(request, planner.configuration) }
        return plan
    }

    private mutating func planAnew(
        _ request: TransferRequest,
        _ planner: RequestPlanner,
        _ bodyLength: Int64?
    ) throws(CurlewError) {
        guard request.method.isValid else {
            throw CurlewError(
                .requestCreationFailed,
                phase: .creation,
                reason: "the method is not a valid HTTP token",
                url: request.url
            )
        }
        guard let authentication = request.options.authentication, case .awsSigV4 = authentication.scheme else {
            return try planParts(request, planner, bodyLength)
        }
        let signed = try SignedRequest(
            request, wire, authentication, keepsDotSegments: planner.configuration.keepsDotSegments, date: Date())
        wire.replaceText(signed.url)
        try planParts(signed.request, planner, bodyLength)
    }

    private mutating func planParts(
        _ request: TransferRequest,
        _ planner: RequestPlanner,
        _ bodyLength: Int64?
    ) throws(CurlewError) {
        let (configuration, options) = (planner.configuration, request.options)
        mayBeResent = options.mayBeResentSilently ?? (request.method.isIdempotent && request.body.isReplayable)
        try planBody(request, bodyLength)
        ownSettings.reserveCapacity(10)
        planMethod(request)
        if configuration.httpVersion == .http3 { try HTTP3Plan.check(options, isTLS: isTLS) }
        planProtocol(configuration, options, planner.capabilities)
        if options.trafficClass != .normal {
            // The mark is the socket's, and must not be others'.
            ownSettings.append(.long(CURLOPT_FRESH_CONNECT, 1))
            closeConnection()
        }
        planContentCoding(configuration, options, planner.capabilities)
        try planLimits(configuration, options, planner.capabilities)
        try planAuthentication(configuration, options, planner.capabilities)
        try planProxy(configuration, options, planner.capabilities)
        if !leavesOutProxy, let proxy = options.proxy, !planner.proxies.mayShare(proxy) {
            goAlone(configuration.httpVersion)
        }
        ownSettings += DNSPlan.overrides(configuration.dns, host: host, port: wire.port)
        ownDefaultList = try planner.list(of: request.defaultHeaders)
        if !leavesOutProxy { planner.keep(self, for: request) }
        if !request.hasOnlyDefaultHeaders { try planHeaders(request, configuration) }
    }

    // MARK: Parts

    private mutating func planBody(_ request: TransferRequest, _ length: Int64?) throws(CurlewError) {
        switch request.body {
        case .none: body = .none
        case .data(let data):
            body = data.count <= Self.piecewiseThreshold ? .fields(data) : .upload(Int64(data.count))
        case .file, .stream: body = .upload(length)
        }
        if request.method == .head, body != .none {
            throw CurlewError(
                .invalidBody,
                phase: .creation,
                reason: "a HEAD request has no body",
                url: request.url
            )
        }
    }

    private mutating func planMethod(_ request: TransferRequest) {
        let method = request.method
        switch body {
        case .none:
            if method == .head {
                ownSettings.append(.long(CURLOPT_NOBODY, 1))
            } else if method == .post || method == .put || method == .patch {
                // An empty body with Content-Length: 0, as RFC 9110 8.6 asks of these methods.
                ownSettings.append(.long(CURLOPT_POST, 1))
                ownSettings.append(.string(CURLOPT_POSTFIELDS, ""))
                ownSettings.append(.offset(CURLOPT_POSTFIELDSIZE_LARGE, 0))
                if method != .post { ownSettings.append(.string(CURLOPT_CUSTOMREQUEST, method.rawValue)) }
            } else if method != .get {
                ownSettings.append(.string(CURLOPT_CUSTOMREQUEST, method.rawValue))
            }
        case .fields:
            ownSettings.append(.long(CURLOPT_POST, 1))
            if method != .post { ownSettings.append(.string(CURLOPT_CUSTOMREQUEST, method.rawValue)) }
        case .upload:
            ownSettings.append(.long(CURLOPT_UPLOAD, 1))
            ownSettings.append(.long(CURLOPT_UPLOAD_BUFFERSIZE, 256 * 1024))
            if method != .put { ownSettings.append(.string(CURLOPT_CUSTOMREQUEST, method.rawValue)) }
        }
    }

    private mutating func planProtocol(
        _ configuration: TransportConfiguration,
        _ options: TransferOptions,
        _ capabilities: Capabilities
    ) {
        // Without TLS `automatic` is HTTP/1.1: nothing to negotiate, and nothing to wait for.
        let (version, multiplexes): (Int, Bool) =
            switch configuration.httpVersion {
            // A libcurl without HTTP/2 refuses every request that asks for it.
            case .automatic where !capabilities.features.contains("HTTP2"): (CURL_HTTP_VERSION_1_1, false)
            case .automatic, .http2:
                isTLS ? (CURL_HTTP_VERSION_2TLS, true) : (CURL_HTTP_VERSION_1_1, false)
            case .http1_1: (CURL_HTTP_VERSION_1_1, false)
            case .http2PriorKnowledge: (CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE, true)
            case .http3: (Int(CURLEW_HTTP_VERSION_3ONLY), true)
            }
        // Each exchange has a connection of its own then.
        let cannotReuse =
            configuration.httpVersion == .http2PriorKnowledge && !isTLS && capabilities.cannotReusePlainHTTP2
        if !multiplexes || (options.multiplexes && !cannotReuse) {
            ownSettings.append(.long(CURLOPT_HTTP_VERSION, version))
            if multiplexes, !capabilities.waitsForOthersResponses { ownSettings.append(.long(CURLOPT_PIPEWAIT, 1)) }
        } else if configuration.httpVersion == .http2PriorKnowledge || configuration.httpVersion == .http3 {
            ownSettings.append(.long(CURLOPT_HTTP_VERSION, version))
            ownSettings.append(.long(CURLOPT_FRESH_CONNECT, 1))
            // There libcurl has to say that it would keep the connection (`DeliveryEvidence`), and the engine ends it then.
            // But the answer to a challenge would go over the kept connection before that.
            if !cannotReuse || options.authentication != nil { closeConnection() }
        } else {
            // HTTP/1.1 is the one way to be alone on a connection.
            ownSettings.append(.long(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1))
        }
    }

    /// libcurl closes the connection after the request.
    private mutating func closeConnection() {
        ownSettings.append(.long(CURLOPT_FORBID_REUSE, 1))
        closesOwnConnection = true
    }

    private mutating func planProxy(
        _ configuration: TransportConfiguration,
        _ options: TransferOptions,
        _ capabilities: Capabilities
    ) throws(CurlewError) {
        if let proxy = options.proxy {
            try ProxyPlan.check(proxy, configuration.addressPolicy, capabilities)
            ownSettings += ProxyPlan.options(insteadOfOthers: leavesOutProxy ? .none : proxy)
            needsOwnHandle = true
        } else if leavesOutProxy {
            ownSettings += ProxyPlan.options(insteadOfOthers: .none)
        }
    }

    private mutating func planContentCoding(
        _ configuration: TransportConfiguration, _ options: TransferOptions, _ capabilities: Capabilities
    ) {
        guard options.decodesContent, configuration.acceptedEncodings?.isEmpty != true else { return }
        let offered = configuration.acceptedEncodings?.joined(separator: ", ") ?? ContentCoding.offered(capabilities)
        ownSettings.append(.string(CURLOPT_ACCEPT_ENCODING, offered))
        // libcurl's decoders do not tell whether a body was cut: see BodyDecoder.
        ownSettings.append(.long(CURLOPT_HTTP_CONTENT_DECODING, 0))
    }

    /// libcurl refuses negative ones with an error that names no option.
    static func checkRates(_ rates: Int?...) throws(CurlewError) {
        guard rates.allSatisfy({ $0 ?? 0 >= 0 }) else {
            throw CurlewError(.requestCreationFailed, phase: .creation, reason: "a rate limit is negative")
        }
    }

    private mutating func planLimits(
        _ configuration: TransportConfiguration, _ options: TransferOptions, _ capabilities: Capabilities
    ) throws(CurlewError) {
        if options.uploadRateLimit != nil || options.downloadRateLimit != nil {
            try Self.checkRates(options.uploadRateLimit, options.downloadRateLimit)
        }
        // libcurl divides it among a host's addresses; the engine's own clock decides. Left alone, libcurl ends at 300 seconds.
        let connect = min(options.timeouts.connect?.clampedMilliseconds ?? .max, Int(Int32.max))
        if connect > 0 { ownSettings.append(.long(CURLOPT_CONNECTTIMEOUT_MS, connect)) }
        if let rate = options.uploadRateLimit ?? configuration.uploadRateLimit {
            ownSettings.append(.offset(CURLOPT_MAX_SEND_SPEED_LARGE, Int64(rate)))
        }
        let largest: Int? =
            switch options.purpose {
            case .memory: nil
            case .file: 256 * 1024
            // One turn hands over what one buffer holds, and each turn wakes the reader.
            case .stream: 512 * 1024
            }
        if let rate = options.downloadRateLimit ?? configuration.downloadRateLimit {
            ownSettings.append(.offset(CURLOPT_MAX_RECV_SPEED_LARGE, Int64(rate)))
            // libcurl reads up to a hundred buffers before it looks at the rate.
            let least = ConnectionPlan.leastBuffer(configuration, capabilities) ?? 1024
            ownSettings.append(.long(CURLOPT_BUFFERSIZE, max(least, min(rate / 400, largest ?? 16 * 1024))))
        } else if let largest {
            ownSettings.append(.long(CURLOPT_BUFFERSIZE, largest))
        }
    }

    private mutating func planAuthentication(
        _ configuration: TransportConfiguration, _ options: TransferOptions, _ capabilities: Capabilities
    ) throws(CurlewError) {
        guard let authentication = options.authentication else { return }
        let version = configuration.httpVersion
        ownSettings += try AuthenticationPlan.options(authentication, capabilities, over: version)
        needsOwnHandle = true
        switch AuthenticationPlan.scope(of: authentication.scheme, capabilities, over: version) {
        case .request: break
        case .connectionIfOffered: goesAloneIfOffered = true
        case .connection: goAlone(version)
        }
    }

    private mutating func planHeaders(_ request: TransferRequest, _ configuration: TransportConfiguration)
        throws(CurlewError)
    {
        let own = request.headers
        headerLines = try HeaderLines.lines(of: own)
        if let defaults = request.defaultHeaders?.headers {
            let isOverlaid = own.contains { defaults.contains(name: $0.name) }
            if isOverlaid {
                overlaysDefaults = true
                headerLines += try HeaderLines.lines(of: defaults) { !own.contains(name: $0) }
                if !configuration.addsAccept { headerLines.append(Self.noAcceptLine) }
            }
        }
        guard body != .none || request.method == .post || request.method == .put || request.method == .patch
        else { return }
        let has = { (name: String) in
            own.contains(name: name) || request.defaultHeaders?.headers.contains(name: name) == true
        }
        // libcurl would call any body it posts a form.
        if !has("Content-Type") { headerLines.append("Content-Type:") }
        if !has("Expect") { planExpect(request) }
    }

    private mutating func planExpect(_ request: TransferRequest) {
        let length: Int64? =
            switch body {
            case .none: 0
            case .fields(let data): Int64(data.count)
            case .upload(let length): length
            }
        sendsExpect =
            switch request.options.expectContinue {
            case .always: length != 0
            case .never: false
            // Most servers that read a body of unknown length say nothing before they do: each would cost a second. Where a
            // challenge may come, sending a body that can be read once would lose it.
            case .automatic:
                length.map { $0 > Self.expectThreshold } ?? (!request.body.isReplayable && request.mayBeChallenged)
            }
        // libcurl asks for every upload that is large or of unknown length, old versions for all.
        guard case .upload = body else {
            if sendsExpect { headerLines.append(Self.expectLine) }
            return
        }
        let isLarge = length.map { $0 > Self.expectThreshold } ?? true
        if !sendsExpect {
            headerLines.append(Self.noExpectLine)
        } else if !isLarge {
            headerLines.append(Self.expectLine)
        }
    }

    /// The request's own lines in libcurl's form, the session's behind them; nil where it has none.
    var ownList: HeaderList? { headerLines.isEmpty ? nil : HeaderList(lines: headerLines, rest: defaultList) }

    /// The request goes by HTTP/3. A signature does not cover the field that says so.
    private mutating func take(_ route: PlannedRoute) {
        self.route = route
        headerLines.append(route.headerLine)
    }

    /// The request goes the usual way after all.
    mutating func leaveRoute() {
        guard let route else { return }
        headerLines.removeAll { $0 == route.headerLine }
        self.route = nil
    }

    /// Gives the request a connection of its own, which is closed after it.
    ///
    /// A connection that NTLM or Negotiate has authenticated, or that leads through a proxy with credentials of its own, is
    /// the user's: libcurl up to 8.19 would use it for requests of others (CVE-2026-1965, CVE-2026-5545). It speaks HTTP/1.1
    /// unless that is excluded. `Handles` runs such requests apart, without multiplexing: the later rounds of a handshake
    /// ignore CURLOPT_FRESH_CONNECT.
    mutating func goAlone(_ version: HTTPVersionPolicy) {
        guard !isAlone else { return }
        isAlone = true
        if !version.excludesHTTP1 { ownSettings.append(.long(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)) }
        ownSettings += [.long(CURLOPT_PIPEWAIT, 0), .long(CURLOPT_FRESH_CONNECT, 1)]
        closeConnection()
    }

    /// Only the connection is wanted, for the HTTP/1.1 of its user. Through an HTTP proxy it is a tunnel.
    mutating func onlyConnect() {
        leaveRoute()
        ownSettings =
            settings + [
                .long(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1), .long(CURLOPT_PIPEWAIT, 0),
                .long(CURLOPT_HTTPPROXYTUNNEL, 1), .long(CURLOPT_BUFFERSIZE, 64 * 1024), .long(CURLOPT_CONNECT_ONLY, 1),
                // With it libcurl closes the connection as soon as it is made.
                .long(CURLOPT_FORBID_REUSE, 0),
            ]
        known = nil
        (connectsOnly, needsOwnHandle, closesOwnConnection) = (true, true, false)
    }

    /// For the repetition of a request whose expectation was refused.
    mutating func leaveOutExpect() {
        sendsExpect = false
        headerLines.removeAll { $0 == Self.expectLine }
        if case .upload = body { headerLines.append(Self.noExpectLine) }
    }
}

extension RequestPlan {
    /// What is known of all requests of its shape, for one that has no header lines of its own yet.
    // `__shared`: an initializer would get a copy of its own.
    private init(_ request: __shared TransferRequest, _ wire: WireURL, _ known: KnownShape) {
        self.init(
            known: known,
            wire: wire,
            mayBeResent: request.options.mayBeResentSilently ?? known.isIdempotent,
            clocks: known.clocks.limited(total: request.options.timeouts.total)
        )
    }
}

extension TransferRequest {
    /// A GET without body and header fields of its own: nothing of it needs a header line.
    fileprivate var hasOnlyDefaultHeaders: Bool {
        guard case .none = body else { return false }
        return headers.isEmpty && method.rawValue == "GET"
    }

    /// Whether its credentials are sent as the answer to a challenge only.
    fileprivate var mayBeChallenged: Bool {
        switch options.authentication?.scheme {
        case .any, .digest, .ntlm, .negotiate: true
        case .basic, .bearer, .awsSigV4, nil: false
        }
    }
}
