public import CurlewCore
internal import CurlewTransport

extension SessionConfiguration {
    /// The transport that a session makes by itself: decorate it and give the result to `Session(transport:)`.
    ///
    /// A server trust manager judges servers instead of libcurl; hosts that it leaves to the session follow
    /// `tls.certificateVerification`.
    public func makeTransport(serverTrustManager: ServerTrustManager? = nil) -> any Transport {
        var transport = transport
        if let serverTrustManager {
            transport.trustEvaluation = ManagedTrustEvaluation(
                manager: serverTrustManager,
                verification: tls.certificateVerification
            )
            transport.trustEvaluationReplacesVerification = true
        }
        return CurlTransport(configuration: transport)
    }
}

extension Capabilities {
    /// What the libcurl in this process can do, asked once.
    public static var current: Capabilities { .ofLibcurl }
}
