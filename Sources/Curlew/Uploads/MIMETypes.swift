internal import Foundation

/// The media type that a file's extension stands for.
enum MIMETypes {
    static let unknown = "application/octet-stream"

    /// What nearly everybody sends is built in; the rest is looked up in the system's list, where there is one.
    static func type(forExtension pathExtension: String) -> String {
        let key = pathExtension.lowercased()
        return common[key] ?? system[key] ?? unknown
    }

    private static let system = parse((try? String(contentsOfFile: "/etc/mime.types", encoding: .utf8)) ?? "")

    /// `type extension extension …` on each line; `#` begins a comment.
    static func parse(_ text: String) -> [String: String] {
        var types: [String: String] = [:]
        for line in text.split(whereSeparator: \.isNewline) {
            let words = line.prefix { $0 != "#" }.split(whereSeparator: \.isWhitespace)
            guard let type = words.first, type.contains("/") else { continue }
            for word in words.dropFirst() where types[word.lowercased()] == nil {
                types[word.lowercased()] = String(type)
            }
        }
        return types
    }

    private static let common: [String: String] = [
        "7z": "application/x-7z-compressed", "aac": "audio/aac", "avif": "image/avif", "avi": "video/x-msvideo",
        "bin": "application/octet-stream", "bmp": "image/bmp", "bz2": "application/x-bzip2", "css": "text/css",
        "csv": "text/csv", "doc": "application/msword",
        "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "epub": "application/epub+zip", "flac": "audio/flac", "gif": "image/gif", "gz": "application/gzip",
        "heic": "image/heic", "heif": "image/heif", "htm": "text/html", "html": "text/html",
        "ico": "image/vnd.microsoft.icon", "ics": "text/calendar", "jpeg": "image/jpeg", "jpg": "image/jpeg",
        "js": "text/javascript", "json": "application/json", "jxl": "image/jxl", "m4a": "audio/mp4",
        "m4v": "video/x-m4v", "md": "text/markdown", "mjs": "text/javascript", "mkv": "video/x-matroska",
        "mov": "video/quicktime", "mp3": "audio/mpeg", "mp4": "video/mp4", "mpeg": "video/mpeg", "mpg": "video/mpeg",
        "odp": "application/vnd.oasis.opendocument.presentation",
        "ods": "application/vnd.oasis.opendocument.spreadsheet", "odt": "application/vnd.oasis.opendocument.text",
        "ogg": "audio/ogg", "ogv": "video/ogg", "opus": "audio/opus", "otf": "font/otf", "pdf": "application/pdf",
        "plist": "application/x-plist", "png": "image/png", "ppt": "application/vnd.ms-powerpoint",
        "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation", "rtf": "application/rtf",
        "svg": "image/svg+xml", "tar": "application/x-tar", "tgz": "application/gzip", "tif": "image/tiff",
        "tiff": "image/tiff", "ts": "video/mp2t", "tsv": "text/tab-separated-values", "ttf": "font/ttf",
        "txt": "text/plain", "wasm": "application/wasm", "wav": "audio/wav", "weba": "audio/webm",
        "webm": "video/webm", "webp": "image/webp", "woff": "font/woff", "woff2": "font/woff2",
        "xhtml": "application/xhtml+xml", "xls": "application/vnd.ms-excel",
        "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xml": "application/xml",
        "xz": "application/x-xz", "yaml": "application/yaml", "yml": "application/yaml", "zip": "application/zip",
        "zst": "application/zstd",
    ]
}
