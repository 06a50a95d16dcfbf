public import CurlewCore
internal import Foundation

extension HTTPHeaders {
    /// The fields that every request has unless it sets its own: `Accept-Encoding`, `User-Agent`, and `Accept-Language`
    /// if the environment names languages. A session derives `Accept-Encoding` from the codings that it can decode.
    public static let `default`: HTTPHeaders = {
        var headers: HTTPHeaders = [.usualAcceptEncoding]
        // Sent only if the user chose a language: a built-in default says nothing about the user.
        if !PreferredLanguages.list(in: ProcessInfo.processInfo.environment, otherwise: []).isEmpty {
            headers.add(.usualAcceptLanguage)
        }
        headers.add(.usualUserAgent)
        return headers
    }()
}

extension HTTPHeader {
    /// `br;q=1.0, gzip;q=0.9, deflate;q=0.8`
    package static let usualAcceptEncoding: HTTPHeader =
        HTTPHeader(name: "Accept-Encoding", value: ["br", "gzip", "deflate"].qualityEncoded())

    /// The user's first six languages, from the environment (`LANGUAGE`, `LC_ALL`, `LC_MESSAGES`, `LANG`) or else from
    /// Foundation. The first has the quality 1.0, each further one 0.1 less.
    package static let usualAcceptLanguage: HTTPHeader =
        HTTPHeader(
            name: "Accept-Language",
            value: PreferredLanguages.list(
                in: ProcessInfo.processInfo.environment, otherwise: Locale.preferredLanguages
            )
            .prefix(6).qualityEncoded()
        )

    /// `<executable>/<version> (<bundle>; build:<build>; Linux 6.1.0) Curlew/<version>`. Unknown parts are left out: a
    /// program without an information property list has no version, bundle or build.
    package static let usualUserAgent: HTTPHeader = {
        let info = Bundle.main.infoDictionary ?? [:]
        let system = ProcessInfo.processInfo.operatingSystemVersion
        return .userAgent(
            agent(
                of: info.compactMapValues { $0 as? String },
                executable: ProcessInfo.processInfo.arguments.first.map { URL(fileURLWithPath: $0).lastPathComponent },
                system: "\(Self.systemName) \(system.majorVersion).\(system.minorVersion).\(system.patchVersion)"
            )
        )
    }()

    static func agent(of info: [String: String], executable: String?, system: String) -> String {
        func known(_ key: String) -> String? { info[key].flatMap { $0.isEmpty ? nil : $0 } }
        let comment = [
            known("CFBundleIdentifier"), known("CFBundleVersion").map { "build:\($0)" }, system,
        ]
        var product = known("CFBundleExecutable") ?? executable ?? ""
        if !product.isEmpty, let version = known("CFBundleShortVersionString") { product += "/\(version)" }
        let parts = [product, "(\(comment.compactMap { $0 }.joined(separator: "; ")))"]
        // The field must begin with a product, so Curlew's is first if the program's name is unknown. A process may
        // have any name: characters that a field cannot contain are replaced.
        let library = "Curlew/\(CurlewInfo.version)"
        let agent = product.isEmpty ? [library, parts[1]] : parts + [library]
        return ASCIIText.transliterated(agent.joined(separator: " "))
    }

    private static var systemName: String {
        #if os(Linux)
        "Linux"
        #elseif os(macOS)
        "macOS"
        #else
        "Unknown"
        #endif
    }
}

/// Facts about this library.
public enum CurlewInfo {
    /// Curlew's version, as in the default `User-Agent`.
    public static let version = "0.1.0"
}
