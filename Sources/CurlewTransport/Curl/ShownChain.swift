internal import CCurl
internal import CurlewCore
internal import Foundation

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
        var certificates: [Data] = []
        withUnsafeMutablePointer(to: &certificates) { pointer in
            _ = curlew_tls_chain_each(chain, pointer) { context, der, length in
                guard let context, let der else { return }
                context.assumingMemoryBound(to: [Data].self).pointee.append(Data(bytes: der, count: length))
            }
        }
        return ServerTrust(host: self.host ?? host, certificateChain: certificates, verifyResult: verifyResult)
    }
}
