internal import CurlewCore
internal import Foundation

/// What a cache does not see of a session's requests: credentials that libcurl adds, from a netrc file and as a client
/// certificate, and settings by which another server may answer under the same URL.
struct HiddenCredentials: Sendable {
    /// Tells those who have them apart from others; empty where it is as if there were none.
    let partition: String
    /// Whether such credentials may be sent.
    let areSent: Bool
    /// Keeps responses of such servers from sessions that ask the usual ones, in a shared cache too; empty with the usual
    /// settings.
    let peers: String

    /// nil where there is none of both. Files are read once: they count as they are when the session is made.
    ///
    /// `trust` names who judges servers, where that is not known to be as strict as usual.
    init?(_ configuration: SessionConfiguration, trust: String?) {
        let credentials = Self.credentials(configuration)
        let others = Self.digest(Self.peers(configuration, trust))
        // The letter tells it from the digest of credentials.
        peers = others.isEmpty ? "" : "p" + others
        guard credentials != nil || !peers.isEmpty else { return nil }
        areSent = credentials != nil
        partition = Self.digest(credentials ?? [])
    }

    private static func digest(_ texts: [String]) -> String {
        texts.isEmpty ? "" : CacheDigest.name(of: texts.joined(separator: "\n"))
    }

    private static func peers(_ configuration: SessionConfiguration, _ trust: String?) -> [String] {
        var texts: [String] = []
        switch configuration.tls.certificateVerification {
        case .full: break
        case .noHostnameVerification: texts.append("verification: chain")
        case .none: texts.append("verification: none")
        }
        if let trust { texts.append("trust: " + trust) }
        if let path = configuration.unixSocketPath { texts.append("socket: " + path) }
        for (name, addresses) in configuration.dns.overrides.sorted(by: { $0.key < $1.key }) {
            texts.append("override: \(name) \(addresses.joined(separator: " "))")
        }
        for (name, other) in configuration.tls.connectTo.sorted(by: { $0.key < $1.key }) {
            texts.append("connection: \(name) \(other)")
        }
        return texts
    }

    /// nil where none are added.
    private static func credentials(_ configuration: SessionConfiguration) -> [String]? {
        var texts: [String] = []
        switch configuration.netrc {
        case .ignored: break
        case .optional: texts += Self.content(of: Self.home.appending(path: ".netrc"))
        case .file(let url): texts += Self.content(of: url)
        }
        switch configuration.tls.clientIdentity {
        case nil: if case .ignored = configuration.netrc { return nil }
        case .pem(let certificate, _, _): texts.append(Self.text(of: certificate))
        case .pkcs12(let container, _): texts.append(Self.text(of: container))
        case .files(let certificate, _, _): texts += [certificate.absoluteString] + Self.content(of: certificate)
        }
        return texts
    }

    // As libcurl finds it.
    private static var home: URL {
        ProcessInfo.processInfo.environment["HOME"].map { URL(filePath: $0) }
            ?? FileManager.default.homeDirectoryForCurrentUser
    }

    /// Of a file, and nothing where there is none. A pipe can be read once only, and that is libcurl's.
    private static func content(of url: URL) -> [String] {
        let values = try? url.resolvingSymlinksInPath().resourceValues(forKeys: [.isRegularFileKey])
        guard let values else { return [] }
        guard values.isRegularFile == true, let data = try? Data(contentsOf: url) else { return [url.absoluteString] }
        return [text(of: data)]
    }

    private static func text(of data: Data) -> String { data.base64EncodedString() }
}
