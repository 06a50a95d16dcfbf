internal import Curlew

/// `--version`: the tool, libcurl, and what libcurl can do.
enum VersionText {
    static func text(_ capabilities: Capabilities) -> String {
        let protocols = capabilities.protocols.filter { $0 == "http" || $0 == "https" || $0 == "ws" || $0 == "wss" }
        var lines = [
            "curlew \(ToolContext.version)",
            "libcurl \(capabilities.version)" + (capabilities.tlsBackend.map { " with \($0)" } ?? ""),
            "protocols: " + protocols.sorted().joined(separator: " "),
            "features: " + capabilities.features.sorted { $0.lowercased() < $1.lowercased() }.joined(separator: " "),
            "encodings: " + AcceptedEncodings.names(capabilities).joined(separator: " "),
        ]
        let missing = [("HTTP2", "--http-version 2"), ("HTTP3", "--http-version 3"), ("UnixSockets", "--unix-socket")]
            .filter { !capabilities.features.contains($0.0) }
        if !missing.isEmpty { lines.append("not available here: " + missing.map(\.1).joined(separator: ", ")) }
        return lines.joined(separator: "\n") + "\n"
    }
}

/// What `Accept-Encoding` will say: the content codings that are undone.
enum AcceptedEncodings {
    static func names(_ capabilities: Capabilities) -> [String] {
        var names: [String] = []
        if capabilities.features.contains("libz") { names += ["deflate", "gzip"] }
        if capabilities.features.contains("brotli") { names.append("br") }
        if capabilities.features.contains("zstd") { names.append("zstd") }
        return names
    }

    static var value: String? {
        let names = names(.current)
        return names.isEmpty ? nil : names.joined(separator: ", ")
    }
}
