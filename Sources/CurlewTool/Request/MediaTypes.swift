/// Guesses the media type of a file from its extension.
enum MediaTypes {
    static let unknown = "application/octet-stream"

    static func guess(path: String) -> String? {
        guard let dot = path.lastIndex(of: "."), !path[dot...].contains("/") else { return nil }
        return known[path[path.index(after: dot)...].lowercased()]
    }

    private static let known: [String: String] = [
        "json": "application/json", "xml": "application/xml", "html": "text/html", "htm": "text/html",
        "txt": "text/plain", "csv": "text/csv", "md": "text/markdown", "css": "text/css", "js": "text/javascript",
        "yaml": "application/yaml", "yml": "application/yaml", "ndjson": "application/x-ndjson",
        "jsonl": "application/x-ndjson", "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg",
        "gif": "image/gif", "webp": "image/webp", "svg": "image/svg+xml", "pdf": "application/pdf",
        "zip": "application/zip", "gz": "application/gzip", "tar": "application/x-tar",
        "bin": "application/octet-stream",
        "mp3": "audio/mpeg", "mp4": "video/mp4", "wasm": "application/wasm",
    ]
}
