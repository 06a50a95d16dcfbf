/// Settings that protect requests, and that only a transport can enforce.
public struct TransportGuards: OptionSet, Sendable, Hashable {
    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Which addresses may be connected to: `addressPolicy`.
    public static let addressPolicy = Self(rawValue: 1 << 0)
    /// How connections are secured, and whom they trust: `tls`.
    public static let tls = Self(rawValue: 1 << 1)
    /// That requests go through a proxy: `proxy`, and the `proxy` that a request's options name.
    public static let proxy = Self(rawValue: 1 << 2)
    /// Who judges servers in place of the transport: `trustEvaluation`.
    public static let serverTrust = Self(rawValue: 1 << 3)
    /// From where, or to which local socket, connections are made: `localAddress`, `interface`, `unixSocketPath`.
    public static let localEndpoint = Self(rawValue: 1 << 4)
    /// All guards.
    public static let all: Self = [.addressPolicy, .tls, .proxy, .serverTrust, .localEndpoint]

    /// By the names of the settings.
    package var names: [String] {
        let names: [(Self, String)] = [
            (.addressPolicy, "addressPolicy"), (.tls, "tls"), (.proxy, "proxy"),
            (.serverTrust, "serverTrustManager"), (.localEndpoint, "localAddress, interface or unixSocketPath"),
        ]
        return names.filter { contains($0.0) }.map(\.1)
    }
}

extension TransportConfiguration {
    /// The guards that are set: those that differ from the default. A direct connection is none: it asks for nothing that
    /// a transport could leave out.
    package var guards: TransportGuards {
        var equal = guards(equalTo: TransportConfiguration())
        if proxy == .none { equal.insert(.proxy) }
        return TransportGuards.all.subtracting(equal)
    }

    /// Those that both have set in the same way.
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
