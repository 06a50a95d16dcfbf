public import CurlewCore

extension TestServer {
    /// A server over TLS, with a certificate that is made when the server starts.
    ///
    ///     var configuration = TestServer.Configuration()
    ///     configuration.tls = TestServer.TLS()
    ///     let server = try TestServer(configuration)
    ///     let session = Session(configuration: SessionConfiguration { $0.tls.trustRoots = server.trustRoots })
    ///
    /// The certificate signs itself, so it is trusted by those alone who are given `server.trustRoots`.
    public struct TLS: Sendable, Hashable {
        /// The names and IPv4 addresses that the certificate is for. Others let a client fail with `.certificateHostMismatch`.
        public var names = ["localhost", "127.0.0.1"]
        /// When the certificate begins to be valid, counted from the server's start.
        public var validFrom = Duration.seconds(-3_600)
        /// When it expires, counted from the server's start. A negative time lets a client fail with `.certificateExpired`.
        public var validUntil = Duration.seconds(30 * 86_400)
        /// The oldest version to agree on.
        public var minimumVersion = TLSVersion.v1_2
        /// The newest version to agree on.
        public var maximumVersion = TLSVersion.v1_3

        /// Creates the usual settings.
        public init() {}
    }

    /// Why a server over TLS could not start.
    public enum TLSFailure: Error, Sendable, Hashable, CustomStringConvertible {
        /// Not a name or an IPv4 address that a certificate can hold.
        case invalidName(String)
        /// OpenSSL did not do what the text says.
        case openSSL(String)

        public var description: String {
            switch self {
            case .invalidName(let name): "'\(name)' is neither a host name nor an IPv4 address"
            case .openSSL(let step): "OpenSSL failed to \(step)"
            }
        }
    }

    /// What a client must trust to reach this server: its own certificate; `.system` without TLS.
    public var trustRoots: TrustRoots { core.identity.map { .pem($0.certificate) } ?? .system }
}
