public import Foundation

/// When one attempt did what, over which connection, and how many bytes it moved.
public struct TransferMetrics: Sendable, Equatable {
    /// When the transport took the exchange over.
    public var queued: Date
    public var nameLookupEnded: Date?
    public var connected: Date?
    public var tlsEstablished: Date?
    public var requestSent: Date?
    public var firstByte: Date?
    public var ended: Date

    public var isConnectionReused = false
    public var httpVersion: HTTPVersion?
    /// `address:port`, IPv6 in brackets.
    public var remoteAddress: String?
    public var localAddress: String?
    public var tlsVersion: String?
    public var tlsCipher: String?

    /// Bytes on the wire, heads and encoded bodies.
    public var bytesSent: Int64 = 0
    public var bytesReceived: Int64 = 0
    /// Bytes of body after content decoding.
    public var decodedBytesReceived: Int64 = 0
    /// The hops that led here, oldest first.
    public var redirects: [RedirectHop] = []
    /// 0 for the first try.
    public var attempt = 0

    public init(queued: Date, ended: Date) {
        self.queued = queued
        self.ended = ended
    }

    public var duration: TimeInterval { ended.timeIntervalSince(queued) }
}

/// One redirect that was followed.
public struct RedirectHop: Sendable, Equatable {
    /// Where the response came from.
    public var url: URL
    public var status: Int
    public var location: URL

    public init(url: URL, status: Int, location: URL) {
        self.url = url
        self.status = status
        self.location = location
    }
}
