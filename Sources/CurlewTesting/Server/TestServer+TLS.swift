public import CurlewCore

extension TestServer {
    /// The TLS settings of a server, whose certificate is made when it starts.
    ///
    ///     var configuration = TestServer.Configuration()
    ///     configuration.tls = TestServer.TLS()
    ///     let server = try TestServer(configuration)
    ///     let session = Session(configuration: SessionConfiguration { $0.tls.trustRoots = server.trustRoots })
    ///
    /// The certificate is self-signed, so a client trusts it only if it is given `server.trustRoots`.
    public struct TLS: Sendable, Hashable {
        /// The host names and IPv4 addresses of the certificate. A client that uses another fails with
        /// `.certificateHostMismatch`.
        public var names = ["localhost", "127.0.0.1"]
        /// The start of the certificate's validity, relative to the server's start.
        public var validFrom = Duration.seconds(-3_600)
        /// The end of its validity, relative to the server's start. If negative, a client fails with
        /// `.certificateExpired`.
        public var validUntil = Duration.seconds(30 * 86_400)
        /// The oldest TLS version that the server accepts.
        public var minimumVersion = TLSVersion.v1_2
        /// The newest TLS version that the server accepts.
        public var maximumVersion = TLSVersion.v1_3

        /// Creates the default settings.
        public init() {}
    }

    /// A failure to start a server with TLS.
    public enum TLSFailure: Error, Sendable, Hashable, CustomStringConvertible {
        /// The text is neither a host name nor an IPv4 address that a certificate can hold.
        case invalidName(String)
        /// OpenSSL failed; the text names the step.
        case openSSL(String)

        public var description: String {
            switch self {
            case .invalidName(let name): "'\(name)' is neither a host name nor an IPv4 address"
            case .openSSL(let step): "OpenSSL failed to \(step)"
            }
        }
    }

    /// The trust roots with which a client accepts this server: its certificate, or `.system` without TLS.
    public var trustRoots: TrustRoots { core.identity.map { .pem($0.certificate) } ?? .system }
}
