internal import CCurl
internal import CurlewCore
internal import Foundation

/// The options and header lines of one request, for its easy handle. Made in the caller's task, without a handle.
struct RequestPlan: Sendable {
    /// The way in which libcurl gets the body.
    enum Body: Equatable, Sendable {
        case none
        /// In memory and small. libcurl sends it together with the head.
        case fields(Data)
        /// Read in pieces. `nil` if the length is unknown.
        case upload(Int64?)
    }

    /// The options apart from URL, header list and body. Two requests with equal settings can use one handle in turn
    /// without a reset.
    var settings: [OptionValue] {
        let settings = cached?.settings ?? ownSettings
        // Later options win.
        return if let route { settings + route.settings } else { settings }
    }
    /// The HTTP/3 route; `nil` if the request takes the usual one.
    private(set) var route: PlannedRoute?
    /// The question for the configuration's resolver; `nil` if there is none.
    var question: HostQuestion?
    /// The plan of all requests of this kind; `nil` if the request has its own settings.
    private var cached: CachedPlan?
    private var ownSettings: [OptionValue] = []
    /// Whether the handle must have no state of earlier requests, such as authentication, and leave none to later ones.
    var needsOwnHandle = false
    /// Whether the request has a connection that no other request uses, before or after it. See `goAlone`.
    private(set) var isAlone = false
    /// Whether the request must leave the shared connection if the server offers to authenticate the connection.
    private(set) var goesAloneIfOffered = false
    /// Whether libcurl closes the connection after the request.
    var closesConnection: Bool {
        settings.last { $0.option == CURLOPT_FORBID_REUSE } == .long(CURLOPT_FORBID_REUSE, 1)
    }
    private(set) var purpose = Purpose.exchange
    private(set) var wire: WireURL
    var url: String { wire.string }
    var host: String { wire.host }
    var isTLS: Bool { wire.isTLS }
    var origin: ConnectionSnapshot.Origin {
        ConnectionSnapshot.Origin(scheme: isTLS ? "https" : "http", host: host, port: wire.port)
    }
    var headerLines: [String] = []
    /// The session's prebuilt header list, to follow `headerLines`; `nil` if `headerLines` has the session's fields, or
    /// if there are none.
    var defaultHeaderList: HeaderList? { overlaysDefaults ? nil : cached?.defaultHeaderList ?? ownDefaultHeaderList }
    private var ownDefaultHeaderList: HeaderList?
    /// Whether `headerLines` has the session's fields as well, without those that the request replaces.
    private var overlaysDefaults = false
    var body: Body = .none
    var sendsExpect = false
    var mayBeResent = true
    /// Whether the request bypasses the proxy because of the proxy's exclusions.
    private(set) var leavesOutProxy = false

    /// Larger bodies are read in pieces, so that progress and timeouts see them advance.
    static let piecewiseThreshold = 64 * 1024
    /// The size up to which a body is not worth the round trip of `Expect` (RFC 9110, 10.1.1).
    static let expectThreshold: Int64 = 1024 * 1024
    static let expectLine = "Expect: 100-continue"
    /// Keeps libcurl from adding the field.
    static let noExpectLine = "Expect:"
    static let noAcceptLine = "Accept:"

    /// The request's timeouts, not yet started.
    var clocks: TransferClocks

    /// Makes the plan of a request.
    static func of(
        _ request: TransferRequest, for purpose: Purpose = .exchange, planner: RequestPlanner, bodyLength: Int64?
    ) throws(CurlewError) -> RequestPlan {
        let wire = try WireURL(request.url)
        let leavesOutProxy = try planner.leavesOutProxy(request, wire.string)
        var plan: RequestPlan
        // Nearly all requests of a session are of a few kinds, whose settings are computed once.
        if !leavesOutProxy, let cached = planner.cachedPlan(for: request, isTLS: wire.isTLS) {
            plan = RequestPlan(
                cached: cached,
                wire: wire,
                mayBeResent: request.options.mayBeResentSilently ?? request.isRepeatable,
                clocks: cached.clocks
            )
            plan.clocks.total = request.options.timeouts.total?.clampedNanoseconds
            try plan.planHeaders(request, planner.configuration)
        } else {
            plan = RequestPlan(wire: wire, clocks: TransferClocks(request.options.timeouts))
            plan.leavesOutProxy = leavesOutProxy
            try plan.planParts(request, planner, bodyLength)
        }
        plan.question = try planner.question(for: request, wire, leavesOutProxy: plan.leavesOutProxy)
        plan.purpose = purpose
        try plan.planPurpose(planner)
        // Last, because its result must be reported: nothing may fail between here and the transfer.
        if let route = planner.route(for: request, wire, purpose) { plan.take(route) }
        return plan
    }

    private mutating func planParts(
        _ request: TransferRequest,
        _ planner: RequestPlanner,
        _ bodyLength: Int64?
    ) throws(CurlewError) {
        let (configuration, options) = (planner.configuration, request.options)
        guard request.method.isValid else {
            throw CurlewError(
                .requestCreationFailed,
                phase: .creation,
                reason: "the method is not a valid HTTP token",
                url: request.url
            )
        }
        var request = request
        if let authentication = options.authentication, case .awsSigV4 = authentication.scheme {
            let signed = try SignedRequest(
                request, wire, authentication, keepsDotSegments: configuration.keepsDotSegments, date: Date())
            wire.replaceText(signed.url)
            request = signed.request
        }
        mayBeResent = options.mayBeResentSilently ?? request.isRepeatable
        try planBody(request, bodyLength)
        ownSettings.reserveCapacity(10)
        planMethod(request)
        if configuration.httpVersion == .http3 { try HTTP3Plan.check(options, isTLS: isTLS) }
        planProtocol(configuration, options, planner.capabilities)
        if request.trailers != nil { try planTrailers(request, planner) }
        if options.trafficClass != .normal {
            // The traffic class marks the socket, so no other request may use the connection.
            ownSettings += [.long(CURLOPT_FRESH_CONNECT, 1), .long(CURLOPT_FORBID_REUSE, 1)]
        }
        planContentCoding(configuration, options, planner.capabilities)
        try planLimits(configuration, options, planner.capabilities)
        try planAuthentication(configuration, options, planner.capabilities)
        try planProxy(configuration, options, planner.capabilities)
        if !leavesOutProxy, let proxy = options.proxy, !planner.proxies.mayShare(proxy) {
            goAlone(configuration.httpVersion)
        }
        ownSettings += DNSPlan.overrides(configuration.dns, host: host, port: wire.port)
        ownDefaultHeaderList = try planner.headerList(of: request.defaultHeaders)
        if !leavesOutProxy { planner.cache(self, for: request) }
        try planHeaders(request, configuration)
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
                // RFC 9110, 8.6 asks these methods to send Content-Length: 0 if the body is empty.
                ownSettings.append(.long(CURLOPT_POST, 1))
                ownSettings.append(.string(CURLOPT_COPYPOSTFIELDS, ""))
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
        // Without TLS `automatic` means HTTP/1.1: there is no version to negotiate and no connection to wait for.
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
        // libcurl fails on a plain HTTP/2 connection that it reuses, so each exchange gets its own.
        let cannotReuse = !isTLS && ConnectionPlan.cannotReusePlain(configuration, capabilities)
        if !multiplexes || (options.multiplexes && !cannotReuse) {
            ownSettings.append(.long(CURLOPT_HTTP_VERSION, version))
            if multiplexes, !capabilities.quirks.waitsForOthersResponses {
                ownSettings.append(.long(CURLOPT_PIPEWAIT, 1))
            }
        } else if configuration.httpVersion == .http2PriorKnowledge || configuration.httpVersion == .http3 {
            ownSettings.append(.long(CURLOPT_HTTP_VERSION, version))
            ownSettings.append(.long(CURLOPT_FRESH_CONNECT, 1))
            // The connection must look kept if libcurl cannot reuse it: `DeliveryEvidence` takes a closed one for
            // broken. The engine ends it after the exchange. With credentials libcurl has to close it, because it would
            // answer a challenge over the kept connection before the engine could end it.
            if !cannotReuse || options.authentication != nil { ownSettings.append(.long(CURLOPT_FORBID_REUSE, 1)) }
        } else {
            // HTTP/1.1 is the one way to be alone on a connection.
            ownSettings.append(.long(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1))
        }
    }

    /// Plans a request whose body trailer fields follow. libcurl sends them with a chunked body of HTTP/1.1 alone.
    private mutating func planTrailers(_ request: TransferRequest, _ planner: RequestPlanner) throws(CurlewError) {
        try request.body.checkCarriesTrailers()
        if planner.configuration.httpVersion.excludesHTTP1 {
            throw .unsupported(feature: "trailer fields of a request", needs: "a session that may speak HTTP/1.1")
        }
        // Without a call before each send, nothing could stop the repetition that `sendsTrailersOnce` excludes.
        guard planner.capabilities.quirks.asksBeforeSending else {
            throw .lacking(feature: "trailer fields of a request", needs: "libcurl 7.80")
        }
        ownSettings += [.long(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1), .long(CURLOPT_PIPEWAIT, 0)]
        needsOwnHandle = true
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
        // `BodyDecoder` decodes: libcurl's decoders do not report that a body was cut.
        ownSettings.append(.long(CURLOPT_HTTP_CONTENT_DECODING, 0))
    }

    /// Throws if a rate is negative. libcurl would refuse it with an error that does not name the option.
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
        // The engine's own timeout decides, because libcurl divides this one among a host's addresses. If it is not
        // set, libcurl gives up after 300 seconds.
        let connect = min(options.timeouts.connect?.clampedMilliseconds ?? .max, Int(Int32.max))
        if connect > 0 { ownSettings.append(.long(CURLOPT_CONNECTTIMEOUT_MS, connect)) }
        if let rate = options.uploadRateLimit ?? configuration.uploadRateLimit {
            ownSettings.append(.offset(CURLOPT_MAX_SEND_SPEED_LARGE, Int64(rate)))
        }
        let largest: Int? =
            switch options.purpose {
            case .memory: nil
            case .file: 256 * 1024
            // One turn of the loop delivers one buffer, and each turn wakes the reader.
            case .stream: 512 * 1024
            }
        if let rate = options.downloadRateLimit ?? configuration.downloadRateLimit {
            ownSettings.append(.offset(CURLOPT_MAX_RECV_SPEED_LARGE, Int64(rate)))
            // libcurl reads up to a hundred buffers before it checks the rate.
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
        if !own.isEmpty {
            headerLines = try HeaderLines.lines(of: own)
            if let defaults = request.defaultHeaders?.headers, own.contains(where: { defaults.contains(name: $0.name) })
            {
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
        // Without this line libcurl declares every body that it posts as a form.
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
            // For a body of unknown length, `Expect` is sent only if the body can be read once and a challenge could
            // consume it. Most servers send no 100 before they read such a body, so waiting for it would cost a second.
            case .automatic:
                length.map { $0 > Self.expectThreshold } ?? (!request.body.isReplayable && request.mayBeChallenged)
            }
        // libcurl adds the field itself to an upload that is large or of unknown length, old versions to every upload.
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

    /// The header lines as libcurl gets them: the request's own, followed by the session's list. `nil` if there are
    /// none.
    var headerList: HeaderList? {
        headerLines.isEmpty ? defaultHeaderList : HeaderList(lines: headerLines, rest: defaultHeaderList)
    }

    /// Takes the HTTP/3 route. Its header line is added after signing, so a signature does not cover it.
    private mutating func take(_ route: PlannedRoute) {
        self.route = route
        headerLines.append(route.headerLine)
    }

    /// Returns to the usual route.
    mutating func leaveRoute() {
        guard let route else { return }
        headerLines.removeAll { $0 == route.headerLine }
        self.route = nil
    }

    /// Gives the request a connection that no other request uses and that is closed after it.
    ///
    /// A connection that NTLM or Negotiate has authenticated, or that leads through a proxy with particular
    /// credentials, belongs to one user. libcurl up to 8.19 would use it for requests of others (CVE-2026-1965,
    /// CVE-2026-5545). The connection speaks HTTP/1.1 unless that is excluded. `Handles` runs such requests in a multi
    /// handle without multiplexing, because the later rounds of a handshake ignore CURLOPT_FRESH_CONNECT.
    mutating func goAlone(_ version: HTTPVersionPolicy) {
        guard !isAlone else { return }
        isAlone = true
        if !version.excludesHTTP1 { ownSettings.append(.long(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)) }
        ownSettings += [
            .long(CURLOPT_PIPEWAIT, 0), .long(CURLOPT_FRESH_CONNECT, 1), .long(CURLOPT_FORBID_REUSE, 1),
        ]
    }

    /// Adds settings that other requests of its kind do not have. Even without any, the request gets a handle that is not
    /// shared.
    mutating func add(_ more: [OptionValue]) {
        ownSettings = (cached?.settings ?? ownSettings) + more
        cached = nil
        needsOwnHandle = true
    }

    /// Removes `Expect`, for the repetition of a request that a server refused with 417.
    mutating func leaveOutExpect() {
        sendsExpect = false
        headerLines.removeAll { $0 == Self.expectLine }
        if case .upload = body { headerLines.append(Self.noExpectLine) }
    }
}

extension TransferRequest {
    /// Whether sending the request twice is harmless and possible.
    var isRepeatable: Bool { method.isIdempotent && body.isReplayable }

    /// Whether the request sends its credentials only in answer to a challenge.
    fileprivate var mayBeChallenged: Bool {
        switch options.authentication?.scheme {
        case .any, .digest, .ntlm, .negotiate: true
        case .basic, .bearer, .awsSigV4, nil: false
        }
    }
}
