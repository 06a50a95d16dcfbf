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

/// The user's languages. On Linux, Foundation's own list ignores the environment.
enum PreferredLanguages {
    /// Returns the languages of `LANGUAGE`, followed by that of the first variable of `LC_ALL`, `LC_MESSAGES` and
    /// `LANG` that is set, as gettext reads them. Returns `fallback` if none is set or the first one names no language.
    static func list(in environment: [String: String], otherwise fallback: [String]) -> [String] {
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty } ?? ""
        // gettext ignores LANGUAGE in the C locale.
        guard let own = tag(locale) else { return fallback }
        var languages = (environment["LANGUAGE"] ?? "").split(separator: ":").compactMap { tag(String($0)) }
        if !languages.contains(own) { languages.append(own) }
        var seen: Set<String> = []
        return languages.filter { seen.insert($0).inserted }
    }

    /// Returns `de-AT` for `de_AT.UTF-8@euro`, and `nil` if the locale is not a language.
    static func tag(_ locale: String) -> String? {
        let name = String(locale.prefix { $0 != "." && $0 != "@" })
        guard name != "C", name != "POSIX", name.utf8.count >= 2 else { return nil }
        let tag = name.replacing("_", with: "-")
        let isSound = tag.utf8.allSatisfy {
            $0 == 0x2D || (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
        }
        return isSound ? tag : nil
    }
}

/// Restricts text to the characters that a header field can contain.
enum ASCIIText {
    /// Transliterates letters of other scripts to Latin ones. Characters without a transliteration become question
    /// marks.
    static func transliterated(_ text: String) -> String {
        var text = text
        if !text.utf8.allSatisfy({ $0 < 0x80 }) {
            let rule = StringTransform(rawValue: "Any-Latin; Latin-ASCII")
            text = text.applyingTransform(rule, reverse: false) ?? text
        }
        return String(text.unicodeScalars.map { (0x20..<0x7F).contains($0.value) ? Character($0) : "?" })
    }
}
