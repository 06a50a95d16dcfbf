internal import CCurl
internal import CurlewCore
internal import Foundation

// The options of one request, part by part.
extension RequestPlan {
    /// Plans a request that has no cached plan: each part in turn, then its header lines. `date` is called for a
    /// signature alone.
    mutating func planParts(
        _ request: TransferRequest,
        _ planner: RequestPlanner,
        _ bodyLength: Int64?,
        signedAt date: () -> Date
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
                request, wire, authentication, keepsDotSegments: configuration.keepsDotSegments, date: date())
            wire.replaceText(signed.url)
            request = signed.request
        }
        mayBeResent = request.isRepeatable
        try planBody(request, bodyLength)
        usualSettings.reserveCapacity(10)
        planMethod(request)
        if configuration.httpVersion == .http3 { try HTTP3Plan.check(options, isTLS: isTLS) }
        planProtocol(configuration, options, planner.capabilities)
        if request.trailers != nil { try planTrailers(request, planner) }
        if options.trafficClass != .normal {
            // The traffic class marks the socket, so no other request may use the connection.
            usualSettings += [.long(CURLOPT_FRESH_CONNECT, 1), .long(CURLOPT_FORBID_REUSE, 1)]
        }
        planContentCoding(configuration, options, planner.capabilities)
        try planLimits(configuration, options, planner.capabilities)
        try planAuthentication(configuration, options, planner.capabilities)
        try planProxy(configuration, options, planner.capabilities)
        if !leavesOutProxy, let proxy = options.proxy, !planner.proxies.claim(proxy) {
            goAlone(configuration.httpVersion)
        }
        usualSettings += DNSPlan.overrides(configuration.dns, host: host, port: wire.port)
        defaultHeaderList = try planner.headerList(of: request.defaultHeaders)
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
                usualSettings.append(.long(CURLOPT_NOBODY, 1))
            } else if method == .post || method == .put || method == .patch {
                // RFC 9110, 8.6 asks these methods to send Content-Length: 0 if the body is empty.
                usualSettings.append(.long(CURLOPT_POST, 1))
                usualSettings.append(.string(CURLOPT_COPYPOSTFIELDS, ""))
                usualSettings.append(.offset(CURLOPT_POSTFIELDSIZE_LARGE, 0))
                if method != .post { usualSettings.append(.string(CURLOPT_CUSTOMREQUEST, method.rawValue)) }
            } else if method != .get {
                usualSettings.append(.string(CURLOPT_CUSTOMREQUEST, method.rawValue))
            }
        case .fields:
            usualSettings.append(.long(CURLOPT_POST, 1))
            if method != .post { usualSettings.append(.string(CURLOPT_CUSTOMREQUEST, method.rawValue)) }
        case .upload:
            usualSettings.append(.long(CURLOPT_UPLOAD, 1))
            usualSettings.append(.long(CURLOPT_UPLOAD_BUFFERSIZE, 256 * 1024))
            if method != .put { usualSettings.append(.string(CURLOPT_CUSTOMREQUEST, method.rawValue)) }
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
        let cannotReuse = !isTLS && TransportPlan.cannotReusePlain(configuration, capabilities)
        if !multiplexes || (options.multiplexes && !cannotReuse) {
            usualSettings.append(.long(CURLOPT_HTTP_VERSION, version))
            if multiplexes, !capabilities.quirks.waitsForOthersResponses {
                usualSettings.append(.long(CURLOPT_PIPEWAIT, 1))
            }
        } else if configuration.httpVersion == .http2PriorKnowledge || configuration.httpVersion == .http3 {
            usualSettings.append(.long(CURLOPT_HTTP_VERSION, version))
            usualSettings.append(.long(CURLOPT_FRESH_CONNECT, 1))
            // The connection must look kept if libcurl cannot reuse it: `DeliveryEvidence` takes a closed one for
            // broken. The engine ends it after the exchange. With credentials libcurl has to close it, because it would
            // answer a challenge over the kept connection before the engine could end it.
            if !cannotReuse || options.authentication != nil { usualSettings.append(.long(CURLOPT_FORBID_REUSE, 1)) }
        } else {
            // HTTP/1.1 is the one way to be alone on a connection.
            usualSettings.append(.long(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1))
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
        addPrivateSettings([.long(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1), .long(CURLOPT_PIPEWAIT, 0)])
    }

    private mutating func planProxy(
        _ configuration: TransportConfiguration,
        _ options: TransferOptions,
        _ capabilities: Capabilities
    ) throws(CurlewError) {
        if let proxy = options.proxy {
            try ProxyPlan.check(proxy, configuration.addressPolicy, capabilities)
            addPrivateSettings(ProxyPlan.options(insteadOfOthers: leavesOutProxy ? .none : proxy))
        } else if leavesOutProxy {
            usualSettings += ProxyPlan.options(insteadOfOthers: .none)
        }
    }

    private mutating func planContentCoding(
        _ configuration: TransportConfiguration, _ options: TransferOptions, _ capabilities: Capabilities
    ) {
        guard options.decodesContent, configuration.acceptedEncodings?.isEmpty != true else { return }
        let offered = configuration.acceptedEncodings?.joined(separator: ", ") ?? ContentCoding.offered(capabilities)
        usualSettings.append(.string(CURLOPT_ACCEPT_ENCODING, offered))
        // `BodyDecoder` decodes: libcurl's decoders do not report that a body was cut.
        usualSettings.append(.long(CURLOPT_HTTP_CONTENT_DECODING, 0))
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
        if connect > 0 { usualSettings.append(.long(CURLOPT_CONNECTTIMEOUT_MS, connect)) }
        if let rate = options.uploadRateLimit ?? configuration.uploadRateLimit {
            usualSettings.append(.offset(CURLOPT_MAX_SEND_SPEED_LARGE, Int64(rate)))
        }
        let largest: Int? =
            switch options.purpose {
            case .memory: nil
            case .file: 256 * 1024
            // One turn of the loop delivers one buffer, and each turn wakes the reader.
            case .stream: 512 * 1024
            }
        if let rate = options.downloadRateLimit ?? configuration.downloadRateLimit {
            usualSettings.append(.offset(CURLOPT_MAX_RECV_SPEED_LARGE, Int64(rate)))
            // libcurl reads up to a hundred buffers before it checks the rate.
            let least = TransportPlan.leastBuffer(configuration, capabilities) ?? 1024
            usualSettings.append(.long(CURLOPT_BUFFERSIZE, max(least, min(rate / 400, largest ?? 16 * 1024))))
        } else if let largest {
            usualSettings.append(.long(CURLOPT_BUFFERSIZE, largest))
        }
    }

    private mutating func planAuthentication(
        _ configuration: TransportConfiguration, _ options: TransferOptions, _ capabilities: Capabilities
    ) throws(CurlewError) {
        guard let authentication = options.authentication else { return }
        let version = configuration.httpVersion
        addPrivateSettings(try AuthenticationPlan.options(authentication, capabilities, over: version))
        switch AuthenticationPlan.scope(of: authentication.scheme, capabilities, over: version) {
        case .request: break
        case .connectionIfOffered: goesAloneIfOffered = true
        case .connection: goAlone(version)
        }
    }

    // MARK: Connections alone

    // Transfers that only make a connection are planned like exchanges: names, proxies, TLS, limits and timeouts are
    // those of requests with equal options.

    mutating func planByteConnection() {
        addPrivateSettings([
            .long(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1), .long(CURLOPT_PIPEWAIT, 0),
            // Through an HTTP proxy the connection is a tunnel.
            .long(CURLOPT_HTTPPROXYTUNNEL, 1), .long(CURLOPT_BUFFERSIZE, 64 * 1024), .long(CURLOPT_CONNECT_ONLY, 1),
            // Otherwise libcurl closes the connection as soon as it is made.
            .long(CURLOPT_FORBID_REUSE, 0),
        ])
    }

    /// Plans a transfer that makes a connection for later requests. Throws `.unsupported` if none of them could use it.
    mutating func planPrewarming(opensNew: Bool, _ planner: RequestPlanner) throws(CurlewError) {
        try planner.capabilities.require(.prewarming)
        guard !isAlone, !closesConnection else {
            throw .unsupported(
                feature: "opening a connection in advance", needs: "requests that may share their connections")
        }
        // libcurl from 8.13 on does not use a plain HTTP/2 connection that has had no response, and 7.88 uses none
        // twice.
        guard isTLS || planner.configuration.httpVersion != .http2PriorKnowledge else {
            throw .unsupported(feature: "opening a plain HTTP/2 connection in advance", needs: "TLS")
        }
        addPrivateSettings(opensNew ? [.long(CURLOPT_PIPEWAIT, 0), .long(CURLOPT_FRESH_CONNECT, 1)] : [])
    }
}
