public import Foundation

/// The dates, the connection and the byte counts of one exchange. An attempt has several if it follows redirects.
public struct TransferMetrics: Sendable {
    /// The measurements, in the form that a transport fills in.
    package struct Values: Sendable, Equatable {
        package var queued: Date
        package var nameLookupEnded: Date?
        package var connected: Date?
        package var tlsEstablished: Date?
        package var requestSent: Date?
        package var firstByte: Date?
        package var ended: Date
        package var isConnectionReused: Bool = false
        package var httpVersion: HTTPVersion?
        package var remoteAddress: String?
        package var localAddress: String?
        package var tlsVersion: String?
        package var tlsCipher: String?
        package var bytesSent: Int64 = 0
        package var bytesReceived: Int64 = 0
        package var decodedBytesReceived: Int64 = 0
        package var redirects: [RedirectHop] = []
        package var attempt: Int = 0
        package var hedge: Hedge?
        package var droppedTrailers: [String] = []
        package var exchangeBehindStored: ExchangeBehindStored?

        fileprivate init(queued: Date, ended: Date) {
            self.queued = queued
            self.ended = ended
        }
    }

    private var shared: CopyOnWrite<Values>
    /// The cache's part in the response; `nil` without a cache. A response from the cache has no network dates.
    // Stored beside `shared`: the cache sets it while the transport still holds the metrics, so that setting it in
    // `shared` would copy all values.
    public var cacheStatus: CacheStatus?

    /// Creates metrics from two dates, for tests and fakes.
    public init(queued: Date, ended: Date) { shared = CopyOnWrite(Values(queued: queued, ended: ended)) }

    /// Changes several values in place.
    package mutating func update(_ change: (inout Values) -> Void) { change(&values) }

    private var values: Values {
        _read { yield shared.values }
        _modify { yield &shared.values }
    }

    /// When the transport accepted the exchange.
    public var queued: Date {
        get { values.queued }
        set { values.queued = newValue }
    }
    /// When the host name was resolved.
    public var nameLookupEnded: Date? {
        get { values.nameLookupEnded }
        set { values.nameLookupEnded = newValue }
    }
    /// When the connection was established.
    public var connected: Date? {
        get { values.connected }
        set { values.connected = newValue }
    }
    /// When the TLS handshake was complete.
    public var tlsEstablished: Date? {
        get { values.tlsEstablished }
        set { values.tlsEstablished = newValue }
    }
    /// When the request was sent.
    public var requestSent: Date? {
        get { values.requestSent }
        set { values.requestSent = newValue }
    }
    /// When the first byte of the response arrived.
    public var firstByte: Date? {
        get { values.firstByte }
        set { values.firstByte = newValue }
    }
    /// When the exchange ended.
    public var ended: Date {
        get { values.ended }
        set { values.ended = newValue }
    }
    /// Whether an existing connection was used.
    public var isConnectionReused: Bool {
        get { values.isConnectionReused }
        set { values.isConnectionReused = newValue }
    }
    /// The version of HTTP that was used.
    public var httpVersion: HTTPVersion? {
        get { values.httpVersion }
        set { values.httpVersion = newValue }
    }
    /// The server's address as `address:port`, IPv6 in brackets.
    public var remoteAddress: String? {
        get { values.remoteAddress }
        set { values.remoteAddress = newValue }
    }
    /// The local address of the connection as `address:port`.
    public var localAddress: String? {
        get { values.localAddress }
        set { values.localAddress = newValue }
    }
    /// The version of TLS, such as `TLSv1.3`.
    public var tlsVersion: String? {
        get { values.tlsVersion }
        set { values.tlsVersion = newValue }
    }
    /// The cipher suite of TLS.
    public var tlsCipher: String? {
        get { values.tlsCipher }
        set { values.tlsCipher = newValue }
    }
    /// The number of bytes sent, heads and encoded bodies. libcurl counts the heads of HTTP/2 and HTTP/3 without
    /// compression.
    public var bytesSent: Int64 {
        get { values.bytesSent }
        set { values.bytesSent = newValue }
    }
    /// The number of bytes received, heads and encoded bodies. libcurl counts the heads of HTTP/2 and HTTP/3 without
    /// compression.
    public var bytesReceived: Int64 {
        get { values.bytesReceived }
        set { values.bytesReceived = newValue }
    }
    /// The size of the response body after decompression, in bytes.
    public var decodedBytesReceived: Int64 {
        get { values.decodedBytesReceived }
        set { values.decodedBytesReceived = newValue }
    }
    /// The redirects that were followed, oldest first.
    public var redirects: [RedirectHop] {
        get { values.redirects }
        set { values.redirects = newValue }
    }
    /// The number of the attempt; 0 for the first.
    public var attempt: Int {
        get { values.attempt }
        set { values.attempt = newValue }
    }

    /// The second copy of the request, if one was sent (``Hedging``). The other values are those of the copy whose
    /// response is used, except for `queued`, which is the first one's.
    public var hedge: Hedge? {
        get { values.hedge }
        set { values.hedge = newValue }
    }

    /// The names of the response's trailer fields that were dropped (`TrailerFields`), for monitors.
    package var droppedTrailers: [String] {
        get { values.droppedTrailers }
        set { values.droppedTrailers = newValue }
    }

    /// The end of the exchange with the server, if a stored response was served after it.
    package var exchangeBehindStored: ExchangeBehindStored? {
        get { values.exchangeBehindStored }
        set { values.exchangeBehindStored = newValue }
    }

    package struct ExchangeBehindStored: Sendable, Equatable {
        package let head: ResponseHead?
        package let error: CurlewError?
        /// The time until the head, or until the failure. `nil` if it is not known.
        package let latency: Duration?

        /// `metrics` are those of the exchange.
        package init(head: ResponseHead? = nil, error: CurlewError? = nil, _ metrics: TransferMetrics?) {
            (self.head, self.error) = (head, error)
            latency = metrics.map { .bounded(seconds: ($0.firstByte ?? $0.ended).timeIntervalSince($0.queued)) }
        }

        package static func == (left: ExchangeBehindStored, right: ExchangeBehindStored) -> Bool {
            left.head?.status == right.head?.status && left.error?.code == right.error?.code
        }
    }

    /// The time from `queued` to `ended`, in seconds.
    public var duration: TimeInterval { ended.timeIntervalSince(queued) }

    /// A phase of the exchange, in seconds since `queued`.
    package struct Phase: Sendable, Equatable {
        package let name: String
        package let start: TimeInterval
        package let end: TimeInterval

        package var duration: TimeInterval { end - start }
    }

    /// The phases of the exchange in order. A phase without a date is left out, and its time belongs to the next one.
    ///
    /// The last phase is "receive", or "cache" for a response from the cache. Without a response it is "rest", because
    /// the dates do not tell what the exchange waited for.
    package var phases: [Phase] {
        let hedged = hedge.flatMap { $0.hasWon ? queued.addingTimeInterval($0.delay / .seconds(1)) : nil }
        let connecting = [("lookup", nameLookupEnded), ("connect", connected), ("TLS", tlsEstablished)]
        // A reused connection was established for another exchange.
        let own = isConnectionReused ? [] : connecting
        let dated = [("hedge", hedged)] + own + [("send", requestSent), ("wait", firstByte)]
        let last = firstByte != nil ? "receive" : cacheStatus != nil ? "cache" : "rest"
        var phases: [Phase] = []
        var start: TimeInterval = 0
        for (name, date) in dated + [(last, ended)] {
            guard let date else { continue }
            // The dates are out of order if the system's clock was set meanwhile.
            let end = max(start, date.timeIntervalSince(queued))
            phases.append(Phase(name: name, start: start, end: end))
            start = end
        }
        // A single "rest" phase that covers the whole time carries no information.
        return phases.count == 1 && last == "rest" ? [] : phases
    }
}

extension TransferMetrics: Equatable {
    public static func == (lhs: TransferMetrics, rhs: TransferMetrics) -> Bool {
        lhs.cacheStatus == rhs.cacheStatus && (lhs.shared.isCopy(of: rhs.shared) || lhs.values == rhs.values)
    }
}

extension TransferMetrics: CustomStringConvertible {
    /// The duration of each phase, the connection and the byte counts in one line:
    /// `12.3 ms: lookup 0.4 ms, connect 1.1 ms, TLS 5.0 ms, send 0.1 ms, wait 4.9 ms, receive 0.8 ms; HTTP/2, …`.
    public var description: String {
        var parts = [times, connection, "\(bytesSent) bytes sent, \(bytesReceived) received"]
        if decodedBytesReceived > 0 { parts.append("body of \(decodedBytesReceived) bytes") }
        if !redirects.isEmpty { parts.append("\(redirects.count) redirect\(redirects.count == 1 ? "" : "s")") }
        // `attempt` counts from zero; the text counts from one.
        if attempt > 0 { parts.append("attempt \(attempt + 1)") }
        if let cacheStatus { parts.append("cache \(cacheStatus)") }
        if let hedge { parts.append("hedged after \(hedge.delay)\(hedge.hasWon ? ", by the second copy" : "")") }
        return parts.filter { !$0.isEmpty }.joined(separator: "; ")
    }

    private var times: String {
        let parts = phases.map { "\($0.name) \(Self.milliseconds($0.duration))" }
        return Self.milliseconds(duration) + (parts.isEmpty ? "" : ": " + parts.joined(separator: ", "))
    }

    private var connection: String {
        var parts: [String] = []
        if let httpVersion { parts.append("\(httpVersion)") }
        if let tlsVersion { parts.append(tlsVersion) }
        if let remoteAddress { parts.append("to \(remoteAddress)") }
        if isConnectionReused { parts.append("connection reused") }
        return parts.joined(separator: ", ")
    }

    private static func milliseconds(_ seconds: TimeInterval) -> String {
        // Formatted to tenths by hand, because a formatter would depend on the locale.
        let tenths = (max(seconds, 0) * 10_000).rounded()
        guard tenths.isFinite, tenths < 1e15 else { return "? ms" }
        return "\(Int64(tenths) / 10).\(Int64(tenths) % 10) ms"
    }
}

extension TransferMetrics: CustomReflectable {
    public var customMirror: Mirror {
        Mirror(self, children: Array(Mirror(reflecting: values).children) + [("cacheStatus", cacheStatus as Any)])
    }
}

/// A redirect that was followed.
public struct RedirectHop: Sendable, Equatable {
    /// The URL whose response was the redirect.
    public var url: URL
    /// The status of the redirect.
    public var status: Int
    /// The URL to which the redirect led.
    public var location: URL

    package init(url: URL, status: Int, location: URL) {
        self.url = url
        self.status = status
        self.location = location
    }
}
