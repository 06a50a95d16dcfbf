public import CurlewCore
internal import Foundation

extension ServerTrust {
    /// The certificates that could be parsed, the server's first.
    public var certificates: [Certificate] { certificateChain.compactMap(Certificate.init(data:)) }

    /// The certificates on the path from the server's to its issuers, each signed by the next, which must be an
    /// authority's. Compare only these with pinned ones: a server may send any other certificate too.
    public var verifiedCertificates: [Certificate] {
        OpenSSLCertificates.path(certificateChain).compactMap(Certificate.init(data:))
    }

    /// Throws unless the chain is trusted: by the session's roots, or only by `anchors`.
    public func performDefaultValidation(anchors: [Certificate]? = nil) throws {
        let result =
            anchors.map { OpenSSLCertificates.verify(certificateChain, anchors: $0.map(\.data)) } ?? verifyResult
        guard result == 0 else {
            throw CurlewError.chainNotTrusted(
                host: host,
                verifyResult: result,
                explanation: OpenSSLCertificates.explanation(result)
            )
        }
    }

    /// Throws unless the server's certificate is valid for `host`.
    public func performValidation(forHost host: String) throws {
        let name = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
        guard let leaf = certificateChain.first, OpenSSLCertificates.isMadeOut(leaf, to: name) else {
            throw CurlewError.hostMismatch(host, names: certificates.first?.names ?? [])
        }
    }
}
