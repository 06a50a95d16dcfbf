internal import CCurl
internal import CurlewCore

// Plans of transfers that only make a connection. They are made like those of exchanges: names, proxies, TLS, limits and
// timeouts are those of requests with equal options.
extension RequestPlan {
    /// The use of the transfer.
    enum Purpose: Sendable {
        case exchange
        /// Makes a connection for arbitrary bytes, over which its user speaks HTTP/1.1. `sendBuffer` is the number of
        /// bytes that may be queued. The handle keeps the connection.
        case byteConnection(sendBuffer: Int)
        /// Finds an idle connection that is alive, or opens one, for later requests. With `opensNew`, opens one in any
        /// case. `ActiveTransfer.stopBeforeSending` ends the transfer.
        case prewarming(opensNew: Bool)
    }

    /// The send buffer of the byte connection to make; `nil` for any other purpose.
    var sendBuffer: Int? { if case .byteConnection(let sendBuffer) = purpose { sendBuffer } else { nil } }
    /// Whether the transfer makes a byte connection.
    var connectsOnly: Bool { if case .byteConnection = purpose { true } else { false } }
    /// Whether the transfer makes a connection for later requests.
    var prewarms: Bool { if case .prewarming = purpose { true } else { false } }
    /// Whether the transfer opens a connection for later requests even if an idle one is there.
    var opensAnother: Bool { if case .prewarming(opensNew: true) = purpose { true } else { false } }

    /// Adds what the purpose needs. Throws if the plan's connection cannot serve it.
    mutating func planPurpose(_ planner: RequestPlanner) throws(CurlewError) {
        switch purpose {
        case .exchange: break
        case .byteConnection:
            add([
                .long(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1), .long(CURLOPT_PIPEWAIT, 0),
                // Through an HTTP proxy the connection is a tunnel.
                .long(CURLOPT_HTTPPROXYTUNNEL, 1), .long(CURLOPT_BUFFERSIZE, 64 * 1024), .long(CURLOPT_CONNECT_ONLY, 1),
                // Otherwise libcurl closes the connection as soon as it is made.
                .long(CURLOPT_FORBID_REUSE, 0),
            ])
        case .prewarming(let opensNew):
            try checkPrewarming(planner)
            add(opensNew ? [.long(CURLOPT_PIPEWAIT, 0), .long(CURLOPT_FRESH_CONNECT, 1)] : [])
        }
    }

    /// Throws `.unsupported` if no later request could use the connection.
    private func checkPrewarming(_ planner: RequestPlanner) throws(CurlewError) {
        try planner.capabilities.require(.prewarming)
        guard !isAlone, !closesConnection else {
            throw .unsupported(
                feature: "opening a connection in advance", needs: "requests that may share their connections")
        }
        // From 8.13 on libcurl uses no plain connection of HTTP/2 that has not had a response, and 7.88 uses none again.
        guard isTLS || planner.configuration.httpVersion != .http2PriorKnowledge else {
            throw .unsupported(feature: "opening a plain HTTP/2 connection in advance", needs: "TLS")
        }
    }
}
