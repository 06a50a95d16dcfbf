/// Chooses HTTP/3 alternatives for origins, and learns from the results. Called in callers' tasks and in turns of the
/// transport's loop, so every member must be quick.
package protocol AlternativeServices: AnyObject, Sendable {
    /// Whether no alternative is known, read without a lock.
    var isEmpty: Bool { get }

    /// Returns the HTTP/3 alternative for the next exchange with an origin; `nil` if it connects as usual.
    ///
    /// If `mayTry` is true, the alternative may be one that has not proved itself. Other exchanges do not use it until
    /// the caller reports the result to `ended`, which it must do even if it sends no request.
    func route(to origin: SecureOrigin, allowing freedom: AlternativeFreedom, mayTry: Bool) -> AlternativeRoute?

    /// Records the alternatives that a response from an origin announces.
    func receive(_ headers: HTTPHeaders, from origin: SecureOrigin)

    /// Records the result of an exchange that used `route`, or that stopped using it.
    func ended(_ route: AlternativeRoute, _ end: AlternativeEnd)
}

/// The https origin to which alternatives belong (RFC 6454).
package struct SecureOrigin: Sendable, Hashable, Codable {
    /// Lower case, IPv6 without brackets.
    package var host: String
    package var port: Int

    package init(host: String, port: Int) {
        self.host = ASCII.lowercased(host)
        self.port = port
    }
}

/// The alternatives that an exchange may use.
package enum AlternativeFreedom: Sendable, Hashable {
    /// HTTP/3 on the origin's host and port, because a user's resolver has found addresses for these.
    case sameEndpoint
    /// Alternatives on the origin's host, at any port, because the certificate is not checked strictly enough for
    /// others.
    case sameHost
    case anyHost

    /// Whether an alternative of `origin` may be used. Without a host, it is on the origin's.
    package func permits(host: String?, port: Int, of origin: SecureOrigin) -> Bool {
        switch self {
        case .sameEndpoint: host == nil && port == origin.port
        case .sameHost: host == nil
        case .anyHost: true
        }
    }
}

/// An HTTP/3 alternative for an origin.
package struct AlternativeRoute: Sendable, Hashable {
    /// The way in which a connection is established.
    package enum Mode: Sendable, Hashable {
        /// QUIC and TCP are tried at the same host and port; the first established connection is used.
        case raced
        /// Only QUIC is tried.
        case alone
    }

    package var origin: SecureOrigin
    /// `nil` is the origin's host.
    package var host: String?
    package var port: Int
    package var mode: Mode

    package init(origin: SecureOrigin, host: String? = nil, port: Int, mode: Mode) {
        self.origin = origin
        self.host = host
        self.port = port
        self.mode = mode
    }

    /// Whether the host or port differs from the origin's.
    package var isElsewhere: Bool { host != nil || port != origin.port }

    /// `host:port` in the form of header fields and libcurl's options.
    package var authority: String { "\(Hostname.bracketed(host ?? origin.host)):\(port)" }
}

/// The result of an exchange for the route that it used.
package enum AlternativeEnd: Sendable, Hashable {
    /// HTTP/3 was used.
    case worked
    /// No QUIC connection was established in time.
    case failed
    /// The server there is not responsible for the origin (421), so the alternative is removed.
    case misdirected
    /// The exchange ended before the result was known.
    case undecided
}
