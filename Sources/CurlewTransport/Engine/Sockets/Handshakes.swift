internal import CCurl
internal import CurlewCore
internal import Foundation

/// The TLS handshakes of one engine's new connections, and the evaluation of the certificates that servers present.
///
/// Used only in the loop's turns; debug builds assert this at most entries.
final class Handshakes {
    let settings: EngineSettings
    private let loop: EngineLoop
    /// The transfers on whose own new connection a TLS handshake has begun, by the handshake's number. The request's
    /// identifier cannot be the key: sessions that share an engine count separately, and the segments of a download
    /// share one identifier.
    private var transfers: [UInt64: ActiveTransfer] = [:]
    private var lastNumber: UInt64 = 0

    init(_ settings: EngineSettings, loop: EngineLoop) {
        self.settings = settings
        self.loop = loop
    }

    /// Returns the number by which the handshake finds its transfer. The handshakes with a proxy and with the server
    /// that it leads to share one number.
    func began(for transfer: ActiveTransfer) -> UInt64 {
        loop.assertOnLoop()
        transfer.connection.isSecuring = true
        if let number = transfer.entries.handshake { return number }
        lastNumber += 1
        transfer.entries.handshake = lastNumber
        transfers[lastNumber] = transfer
        return lastNumber
    }

    /// Called when the transfer leaves the handle on which its handshake began.
    func forget(_ transfer: ActiveTransfer) {
        loop.assertOnLoop()
        guard let number = exchange(&transfer.entries.handshake, with: nil) else { return }
        transfers[number] = nil
    }

    /// The transfer of a handshake; `nil` once the transfer has left that handle.
    func transfer(_ number: UInt64) -> ActiveTransfer? {
        loop.assertOnLoop()
        return transfers[number]
    }

    /// Whether the evaluator is asked within the handshake that begins with this context: only then is it asked before
    /// a client certificate is presented.
    ///
    /// libcurl itself verifies an HTTPS proxy, whose context looks like a server's. If there may be such a proxy, the
    /// server's context is recognized because libcurl does not verify it. If that distinguishes nothing,
    /// `evaluateBeforeSending` asks after the handshake.
    func mayEvaluateWithinHandshake(_ context: UnsafeMutableRawPointer, _ transfer: ActiveTransfer) -> Bool {
        guard settings.trustEvaluation != nil else { return false }
        if !transfer.mayUseTLSProxy(settings) { return true }
        return settings.evaluatorDecidesAlone && settings.verifiesTLSProxies
            && curlew_tls_context_verifies(context) == 0
    }

    /// Asks the evaluator about a chain within a handshake. Sets the transfer's `failure` and returns false if it
    /// refuses.
    func evaluateWithinHandshake(_ chain: UnsafeRawPointer?, of number: UInt64, verifyResult: Int) -> Bool {
        guard let evaluation = settings.trustEvaluation, let chain, let transfer = transfer(number) else {
            return false
        }
        let shown = certificates { curlew_tls_chain_each(chain, $0, $1) }
        return evaluate(
            ServerTrust(host: transfer.plan.host, certificateChain: shown, verifyResult: verifyResult), transfer,
            evaluation)
    }

    /// Asks the evaluator before a request is sent over a TLS connection, new or reused. Sets the transfer's `failure`
    /// and returns false if it refuses. The verdict is stored with the connection, so that each is evaluated once. Also
    /// records the version of TLS and the cipher.
    func evaluateBeforeSending(_ transfer: ActiveTransfer) -> Bool {
        loop.assertOnLoop()
        let connection = transfer.easy.flatMap { curlew_tls_connection($0.handle) }
        recordTLS(of: transfer, connection)
        guard let evaluation = settings.trustEvaluation else { return true }
        guard let connection else {
            // An evaluator requires a libcurl that exposes its OpenSSL connections (`Capabilities.require`).
            transfer.failure = transfer.makeError(.certificateUntrusted, "the connection shows no chain", phase: .tls)
            return false
        }
        if curlew_tls_verdict(connection) == 1 { return true }
        let trust = ServerTrust(
            host: transfer.plan.host,
            certificateChain: certificates { curlew_tls_each_certificate(connection, $0, $1) },
            verifyResult: curlew_tls_verify_result(connection)
        )
        guard evaluate(trust, transfer, evaluation) else { return false }
        curlew_tls_set_verdict(connection, 1)
        return true
    }

    /// Stores the version of TLS and the cipher for the metrics. `connection` is OpenSSL's; `nil` if libcurl exposes
    /// none.
    private func recordTLS(of transfer: ActiveTransfer, _ connection: UnsafeMutableRawPointer?) {
        let version: String?
        let cipher: String?
        if let connection {
            version = curlew_tls_version(connection).map(String.init(cString:))
            cipher = curlew_tls_cipher(connection).map(String.init(cString:))
        } else if settings.usesGnuTLS, let handle = transfer.easy?.handle {
            version = curlew_gnutls_version(handle).map(String.init(cString:))
            cipher = curlew_gnutls_cipher(handle).map(String.init(cString:))
        } else {
            return
        }
        transfer.result.metrics.update { ($0.tlsVersion, $0.tlsCipher) = (version, cipher) }
    }

    /// Returns the verdict of the user's evaluator. A refusal is the transfer's failure.
    private func evaluate(
        _ trust: ServerTrust, _ transfer: ActiveTransfer, _ evaluation: any TrustEvaluation
    ) -> Bool {
        do {
            try evaluation.evaluate(trust)
            return true
        } catch {
            var failure =
                error as? CurlewError
                ?? transfer.makeError(.certificateUntrusted, "the server's certificates were refused", phase: .tls)
            if failure.underlying == nil, !(error is CurlewError) { failure.underlying = error }
            transfer.failure = transfer.withDetails(failure)
            return false
        }
    }
}

/// The certificates that a server presented in a handshake, in OpenSSL's form. They are encoded only if an error needs
/// them.
final class ShownChain {
    // SAFETY: made by X509_chain_up_ref for this object, freed in deinit.
    private let chain: UnsafeMutableRawPointer
    private let host: String?
    private let verifyResult: Int

    init(_ chain: UnsafeMutableRawPointer, host: String?, verifyResult: Int) {
        self.chain = chain
        self.host = host
        self.verifyResult = verifyResult
    }

    deinit { curlew_tls_chain_free(chain) }

    /// Returns the chain as errors report it. `host` is used if the handshake named no host.
    func trust(host: String) -> ServerTrust {
        ServerTrust(
            host: self.host ?? host,
            certificateChain: certificates { curlew_tls_chain_each(chain, $0, $1) },
            verifyResult: verifyResult)
    }
}

private typealias TakeCertificate = @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<UInt8>?, Int) -> Void

/// Collects the certificates that `each` passes to its callback, in DER form.
private func certificates(_ each: (UnsafeMutableRawPointer, @escaping TakeCertificate) -> Int32) -> [Data] {
    var chain: [Data] = []
    withUnsafeMutablePointer(to: &chain) { pointer in
        _ = each(pointer) { context, der, length in
            guard let context, let der else { return }
            context.assumingMemoryBound(to: [Data].self).pointee.append(Data(bytes: der, count: length))
        }
    }
    return chain
}
