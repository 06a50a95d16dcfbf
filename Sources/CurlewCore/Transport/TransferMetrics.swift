public import Foundation

/// When one attempt did what, over which connection, and how many bytes it moved.
public struct TransferMetrics: Sendable, Equatable {
    /// When the transport took the exchange over.
    public var queued: Date
    /// When the host's addresses were known.
    public var nameLookupEnded: Date?
    /// When the connection stood.
    public var connected: Date?
    /// When TLS was negotiated.
    public var tlsEstablished: Date?
    /// When the request was sent.
    public var requestSent: Date?
    /// When the answer began.
    public var firstByte: Date?
    /// When all of it was over.
    public var ended: Date

    /// Whether the connection had been there before.
    public var isConnectionReused = false
    /// The version that was spoken.
    public var httpVersion: HTTPVersion?
    /// `address:port`, IPv6 in brackets.
    public var remoteAddress: String?
    /// Our own end of the connection, `address:port` as well.
    public var localAddress: String?
    /// The version of TLS, such as `TLSv1.3`.
    public var tlsVersion: String?
    /// The cipher suite of TLS.
    public var tlsCipher: String?

    /// Bytes on the wire, heads and encoded bodies.
    public var bytesSent: Int64 = 0
    /// Bytes on the wire, heads and encoded bodies.
    public var bytesReceived: Int64 = 0
    /// Bytes of body after content decoding.
    public var decodedBytesReceived: Int64 = 0
    /// The hops that led here, oldest first.
    public var redirects: [RedirectHop] = []
    /// 0 for the first try.
    public var attempt = 0

    /// Makes metrics of two dates, for tests and fakes.
    public init(queued: Date, ended: Date) {
        self.queued = queued
        self.ended = ended
    }

    /// From `queued` to `ended`, in seconds.
    public var duration: TimeInterval { ended.timeIntervalSince(queued) }
}

/// One redirect that was followed.
public struct RedirectHop: Sendable, Equatable {
    /// Where the response came from.
    public var url: URL
    /// The status that told of it.
    public var status: Int
    /// Where it led.
    public var location: URL

    /// Makes a hop.
    public init(url: URL, status: Int, location: URL) {
        self.url = url
        self.status = status
        self.location = location
    }
}
