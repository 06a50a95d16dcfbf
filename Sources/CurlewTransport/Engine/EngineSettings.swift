internal import CurlewCore

/// What the loop needs of a transport's configuration, worked out once.
struct EngineSettings: Sendable {
    let base: ConnectionPlan
    let material: TrustMaterial
    let limits: ConnectionLimits
    let maximumHeaderSize: Int
    let trustEvaluation: (any TrustEvaluation)?
    let refusesPrivateAddresses: Bool
    let usesOpenSSL: Bool
    let hasClientIdentity: Bool
    /// The way to the outside where a request names none of its own.
    let proxy: Proxy
    /// Connections lead to a Unix socket, whatever else is said.
    let usesUnixSocket: Bool
    let loopMechanism: LoopMechanism

    init(_ configuration: TransportConfiguration, _ surroundings: ConnectionPlan.Surroundings) throws(CurlewError) {
        base = try ConnectionPlan(configuration, surroundings)
        material = try TrustMaterial(base.trust, keyLogFile: configuration.tls.keyLogFile)
        limits = ConnectionLimits(
            maximumPerHost: configuration.maximumConnectionsPerHost,
            maximumTotal: configuration.maximumConnections
        )
        maximumHeaderSize = max(1, configuration.maximumHeaderSize)
        trustEvaluation = configuration.trustEvaluation
        refusesPrivateAddresses = configuration.addressPolicy != .any
        usesOpenSSL = surroundings.capabilities.usesOpenSSL
        hasClientIdentity = configuration.tls.clientIdentity != nil
        proxy = configuration.proxy
        usesUnixSocket = configuration.unixSocketPath != nil
        loopMechanism = surroundings.loopMechanism
    }
}
