/// What is asked about other ways to an origin, and told what became of them. Called in callers' tasks and on the
/// transport's thread: it must be quick.
package protocol AlternativeServices: AnyObject, Sendable {
    /// Whether there is nothing to ask about, without a lock.
    var isEmpty: Bool { get }

    /// The way by HTTP/3 that the next exchange with an origin takes, if it is to take one. What became of it has to be told.
    func route(to origin: SecureOrigin, allowing freedom: AlternativeFreedom) -> AlternativeRoute?

    /// What a response from an origin announces.
    func receive(_ headers: HTTPHeaders, from origin: SecureOrigin)

    /// An exchange over a route has ended, or has left it.
    func ended(_ route: AlternativeRoute, _ end: AlternativeEnd)
}

/// Whose alternatives they are: an https origin (RFC 6454).
package struct SecureOrigin: Sendable, Hashable, Codable {
    /// Lower case, IPv6 without brackets.
    package var host: String
    package var port: Int

    package init(host: String, port: Int) {
        self.host = ASCII.lowercased(host)
        self.port = port
    }
}

/// Which alternatives may be used.
package enum AlternativeFreedom: Sendable, Hashable {
    /// Those at the origin's own host, at any port: its certificate is not looked at closely enough for others.
    case sameHost
    case anyHost
}

/// One way to an origin by HTTP/3.
package struct AlternativeRoute: Sendable, Hashable {
    /// How a connection comes about.
    package enum Mode: Sendable, Hashable {
        /// QUIC and TCP at the same host and port, and the first that stands is used.
        case raced
        /// QUIC alone.
        case alone
    }

    package var origin: SecureOrigin
    /// nil is the origin's own.
    package var host: String?
    package var port: Int
    package var mode: Mode

    package init(origin: SecureOrigin, host: String? = nil, port: Int, mode: Mode) {
        self.origin = origin
        self.host = host
        self.port = port
        self.mode = mode
    }

    /// Whether it leads to another host or port than the origin's.
    package var isElsewhere: Bool { host != nil || port != origin.port }

    /// `host:port` as it stands in a header field and in libcurl's options.
    package var authority: String {
        let host = host ?? origin.host
        return host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}

/// What an exchange says about the route that it took.
package enum AlternativeEnd: Sendable, Hashable {
    /// HTTP/3 was spoken.
    case worked
    /// No connection by QUIC, or none in time.
    case failed
    /// The server does not speak for the origin there (421): the alternative is forgotten.
    case misdirected
    /// The exchange was over before it was known.
    case undecided
}
