/// Settings that protect requests and that only a transport can enforce.
public struct TransportGuards: OptionSet, Sendable, Hashable {
    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The restriction of addresses: `addressPolicy`.
    public static let addressPolicy = Self(rawValue: 1 << 0)
    /// The security settings of connections: `tls`.
    public static let tls = Self(rawValue: 1 << 1)
    /// The use of a proxy: `proxy`, both the configuration's and the one in a request's options.
    public static let proxy = Self(rawValue: 1 << 2)
    /// The evaluation of servers by `trustEvaluation`.
    public static let serverTrust = Self(rawValue: 1 << 3)
    /// The local end of connections, or the Unix socket: `localAddress`, `interface`, `unixSocketPath`.
    public static let localEndpoint = Self(rawValue: 1 << 4)
    /// All guards.
    public static let all: Self = [.addressPolicy, .tls, .proxy, .serverTrust, .localEndpoint]

    /// The names of the settings.
    package var names: [String] {
        let names: [(Self, String)] = [
            (.addressPolicy, "addressPolicy"), (.tls, "tls"), (.proxy, "proxy"),
            (.serverTrust, "serverTrustManager"), (.localEndpoint, "localAddress, interface or unixSocketPath"),
        ]
        return names.filter { contains($0.0) }.map(\.1)
    }
}

extension TransportConfiguration {
    /// The guards that are set, that is, that differ from the default. A direct connection is not a guard, because
    /// there is nothing about it that a transport could leave out.
    package var guards: TransportGuards {
        var equal = guards(equalTo: TransportConfiguration())
        if proxy == .none { equal.insert(.proxy) }
        return TransportGuards.all.subtracting(equal)
    }

    /// Returns the guards whose settings are equal in both configurations.
    package func guards(equalTo other: TransportConfiguration) -> TransportGuards {
        var equal: TransportGuards = []
        if addressPolicy == other.addressPolicy { equal.insert(.addressPolicy) }
        if tls == other.tls { equal.insert(.tls) }
        if proxy == other.proxy { equal.insert(.proxy) }
        if localAddress == other.localAddress, interface == other.interface, unixSocketPath == other.unixSocketPath {
            equal.insert(.localEndpoint)
        }
        if trustEvaluationReplacesVerification == other.trustEvaluationReplacesVerification,
            Self.areEqual(trustEvaluation, other.trustEvaluation)
        {
            equal.insert(.serverTrust)
        }
        return equal
    }

    private static func areEqual(_ one: (any TrustEvaluation)?, _ other: (any TrustEvaluation)?) -> Bool {
        func isEqual<Value: Equatable>(_ value: Value, _ other: any TrustEvaluation) -> Bool {
            other as? Value == value
        }
        guard let one, let other else { return one == nil && other == nil }
        return (one as? any Equatable).map { isEqual($0, other) } ?? false
    }
}
