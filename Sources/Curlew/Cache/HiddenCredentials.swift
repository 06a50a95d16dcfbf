internal import CurlewCore
internal import Foundation

/// Credentials that libcurl adds to a session's requests, where a cache does not see them: those of a netrc file and a
/// client certificate.
struct HiddenCredentials: Sendable {
    /// Tells those who have them apart from others; empty where it is as if there were none.
    let partition: String

    /// nil where nothing is added. Files are read once: they count as they are when the session is made.
    init?(_ configuration: SessionConfiguration) {
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
        partition = texts.isEmpty ? "" : CacheDigest.name(of: texts.joined(separator: "\n"))
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
