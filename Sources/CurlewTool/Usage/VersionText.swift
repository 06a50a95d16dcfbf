internal import Curlew

/// The text of `--version`: the tool, libcurl, its features, and the settings that are refused because it lacks them.
enum VersionText {
    static func text(_ capabilities: Capabilities) -> String {
        let protocols = capabilities.protocols.filter { $0 == "http" || $0 == "https" || $0 == "ws" || $0 == "wss" }
        var lines = [
            "curlew \(ToolContext.version)",
            "libcurl \(capabilities.version)" + (capabilities.tlsBackend.map { " with \($0)" } ?? ""),
            "protocols: " + protocols.sorted().joined(separator: " "),
            "features: " + capabilities.features.sorted { $0.lowercased() < $1.lowercased() }.joined(separator: " "),
            "encodings: " + capabilities.contentCodings.joined(separator: " "),
            "HTTP/3: " + (capabilities.http3Library ?? "no"),
            "DNS over HTTPS: " + (capabilities.hasDNSOverHTTPS ? "yes" : "no"),
            "international names: " + (capabilities.internationalNameLibrary ?? "no"),
            "public suffixes: " + (capabilities.publicSuffixLibrary ?? "no"),
        ]
        let missing = [("HTTP2", "--http-version 2"), ("HTTP3", "--http-version 3"), ("UnixSockets", "--unix-socket")]
            .filter { !capabilities.features.contains($0.0) }
        if !missing.isEmpty { lines.append("not available here: " + missing.map(\.1).joined(separator: ", ")) }
        lines += capabilities.refusals.map { "refused: \($0.feature), needs \($0.needs)" }
        return lines.joined(separator: "\n") + "\n"
    }
}

/// The value of `Accept-Encoding`: the content codings that libcurl decodes.
enum AcceptedEncodings {
    static var value: String? {
        let names = Capabilities.current.contentCodings
        return names.isEmpty ? nil : names.joined(separator: ", ")
    }
}
