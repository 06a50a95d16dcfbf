public import CurlewCore
internal import Foundation

extension HTTPHeaders {
    /// The three fields that every request has unless it brings its own: `Accept-Encoding`, `Accept-Language`
    /// and `User-Agent`. A session derives the first from the codings that it can undo.
    public static let `default`: HTTPHeaders = [.defaultAcceptEncoding, .defaultAcceptLanguage, .defaultUserAgent]
}

extension HTTPHeader {
    /// `br;q=1.0, gzip;q=0.9, deflate;q=0.8`
    public static let defaultAcceptEncoding: HTTPHeader =
        .acceptEncoding(["br", "gzip", "deflate"].qualityEncoded())

    /// The user's first six languages: those of the environment (`LANGUAGE`, `LC_ALL`, `LC_MESSAGES`, `LANG`), else of
    /// Foundation. The first has the quality 1.0, each further one 0.1 less.
    public static let defaultAcceptLanguage: HTTPHeader =
        .acceptLanguage(
            PreferredLanguages.list(in: ProcessInfo.processInfo.environment, otherwise: Locale.preferredLanguages)
                .prefix(6).qualityEncoded()
        )

    /// `<executable>/<version> (<bundle>; build:<build>; Linux 6.1.0) Curlew/<version>`
    public static let defaultUserAgent: HTTPHeader = {
        let info = Bundle.main.infoDictionary ?? [:]
        func text(_ key: String) -> String? { info[key] as? String }
        let executable =
            text("CFBundleExecutable") ?? ProcessInfo.processInfo.arguments.first
            .map { URL(fileURLWithPath: $0).lastPathComponent } ?? "Unknown"
        let bundle = text("CFBundleIdentifier") ?? "Unknown"
        let version = text("CFBundleShortVersionString") ?? "Unknown"
        let build = text("CFBundleVersion") ?? "Unknown"
        let system = ProcessInfo.processInfo.operatingSystemVersion
        let numbers = "\(system.majorVersion).\(system.minorVersion).\(system.patchVersion)"
        let agent =
            "\(executable)/\(version) (\(bundle); build:\(build); \(Self.systemName) \(numbers)) "
            + "Curlew/\(CurlewInfo.version)"
        // A process may carry any name: only what may stand in a field reaches the wire.
        return .userAgent(ASCIIText.transliterated(agent))
    }()

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

/// What this library is.
public enum CurlewInfo {
    /// Curlew's version, as the default `User-Agent` has it.
    public static let version = "0.1.0"
}

/// Alamofire's name for `CurlewInfo`.
public typealias AFInfo = CurlewInfo
