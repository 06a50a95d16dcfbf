internal import CCurl
internal import CurlewCore
internal import Foundation

extension TransferBook {
    /// Asked before a request goes over a TLS connection, new or used before. The verdict is kept with
    /// the connection, so a server is judged once.
    func trusts(_ transfer: ActiveTransfer) -> Bool {
        guard let handle = transfer.easy?.handle, let connection = curlew_tls_connection(handle) else {
            // Without libssl's view no evaluator was admitted.
            if settings.trustEvaluation == nil { return true }
            transfer.failure = transfer.makeError(.certificateUntrusted, "the connection shows no chain", phase: .tls)
            return false
        }
        transfer.tlsVersion = texts.string(curlew_tls_version(connection))
        transfer.tlsCipher = texts.string(curlew_tls_cipher(connection))
        guard let evaluation = settings.trustEvaluation else { return true }
        if curlew_tls_verdict(connection) == 1 { return true }
        let trust = ServerTrust(
            host: transfer.plan.host,
            certificateChain: Self.chain(connection),
            verifyResult: curlew_tls_verify_result(connection)
        )
        do {
            try evaluation.evaluate(trust)
            curlew_tls_set_verdict(connection, 1)
            return true
        } catch {
            var failure =
                error as? CurlewError
                ?? transfer.makeError(.certificateUntrusted, "the server's certificates were refused", phase: .tls)
            if failure.underlying == nil, !(error is CurlewError) { failure.underlying = error }
            transfer.failure = transfer.completed(failure)
            return false
        }
    }

    private static func chain(_ connection: UnsafeMutableRawPointer) -> [Data] {
        var chain: [Data] = []
        withUnsafeMutablePointer(to: &chain) { pointer in
            _ = curlew_tls_each_certificate(connection, pointer) { context, der, length in
                guard let context, let der else { return }
                context.assumingMemoryBound(to: [Data].self).pointee.append(Data(bytes: der, count: length))
            }
        }
        return chain
    }
}

extension TextCache {
    mutating func string(_ text: UnsafePointer<CChar>?) -> String? {
        guard let text else { return nil }
        return string(UnsafeRawBufferPointer(start: text, count: strlen(text)))
    }
}
