internal import Foundation

/// The media types of file extensions.
package enum MIMETypes {
    package static let unknown = "application/octet-stream"

    /// The type of an extension, or `unknown`.
    static func type(forExtension pathExtension: String) -> String { known(forExtension: pathExtension) ?? unknown }

    /// The type of a file, by the extension of its name. `nil` if that is not known.
    package static func known(forPath path: String) -> String? {
        known(forExtension: URL(filePath: path).pathExtension)
    }

    /// The type of an extension, from the built-in list of common types or the system's list.
    private static func known(forExtension pathExtension: String) -> String? {
        let key = pathExtension.lowercased()
        return common[key] ?? system[key]
    }

    private static let system = parse((try? String(contentsOfFile: "/etc/mime.types", encoding: .utf8)) ?? "")

    /// Parses lines of the form `type extension extension …`. `#` begins a comment.
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
        "3gp": "video/3gpp", "7z": "application/x-7z-compressed", "aac": "audio/aac", "abw": "application/x-abiword",
        "aif": "audio/aiff", "aiff": "audio/aiff", "apk": "application/vnd.android.package-archive",
        "apng": "image/apng", "asc": "text/plain", "asf": "video/x-ms-asf", "avi": "video/x-msvideo",
        "avif": "image/avif", "azw": "application/vnd.amazon.ebook", "bash": "application/x-sh",
        "bin": "application/octet-stream", "bmp": "image/bmp", "br": "application/x-brotli", "bz": "application/x-bzip",
        "bz2": "application/x-bzip2", "c": "text/x-c", "cbor": "application/cbor", "cer": "application/pkix-cert",
        "cpp": "text/x-c++", "crt": "application/x-x509-ca-cert", "css": "text/css", "csv": "text/csv",
        "deb": "application/vnd.debian.binary-package", "der": "application/x-x509-ca-cert",
        "dmg": "application/x-apple-diskimage", "doc": "application/msword",
        "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "dtd": "application/xml-dtd",
        "eml": "message/rfc822", "eot": "application/vnd.ms-fontobject", "eps": "application/postscript",
        "epub": "application/epub+zip", "flac": "audio/flac", "flv": "video/x-flv", "geojson": "application/geo+json",
        "gif": "image/gif", "glb": "model/gltf-binary", "gltf": "model/gltf+json", "gpx": "application/gpx+xml",
        "gz": "application/gzip", "h": "text/x-c", "heic": "image/heic", "heif": "image/heif", "htm": "text/html",
        "html": "text/html", "ico": "image/vnd.microsoft.icon", "ics": "text/calendar",
        "iso": "application/x-iso9660-image", "jar": "application/java-archive", "java": "text/x-java",
        "jfif": "image/jpeg", "jpe": "image/jpeg", "jpeg": "image/jpeg", "jpg": "image/jpeg", "js": "text/javascript",
        "json": "application/json", "jsonl": "application/jsonl", "jsonld": "application/ld+json", "jxl": "image/jxl",
        "key": "application/vnd.apple.keynote", "kml": "application/vnd.google-earth.kml+xml",
        "kmz": "application/vnd.google-earth.kmz", "log": "text/plain", "m3u8": "application/vnd.apple.mpegurl",
        "m4a": "audio/mp4", "m4v": "video/x-m4v", "map": "application/json", "markdown": "text/markdown",
        "md": "text/markdown", "mid": "audio/midi", "midi": "audio/midi", "mjs": "text/javascript",
        "mkv": "video/x-matroska", "mov": "video/quicktime", "mp3": "audio/mpeg", "mp4": "video/mp4",
        "mpeg": "video/mpeg", "mpg": "video/mpeg", "msgpack": "application/vnd.msgpack", "mts": "video/mp2t",
        "ndjson": "application/x-ndjson", "numbers": "application/vnd.apple.numbers",
        "odp": "application/vnd.oasis.opendocument.presentation",
        "ods": "application/vnd.oasis.opendocument.spreadsheet", "odt": "application/vnd.oasis.opendocument.text",
        "oga": "audio/ogg", "ogg": "audio/ogg", "ogv": "video/ogg", "ogx": "application/ogg", "opus": "audio/opus",
        "otf": "font/otf", "p12": "application/x-pkcs12", "p7s": "application/pkcs7-signature",
        "pages": "application/vnd.apple.pages", "parquet": "application/vnd.apache.parquet", "pdf": "application/pdf",
        "pem": "application/x-pem-file", "pfx": "application/x-pkcs12", "php": "application/x-httpd-php",
        "pkpass": "application/vnd.apple.pkpass", "plist": "application/x-plist", "png": "image/png",
        "ppt": "application/vnd.ms-powerpoint",
        "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation", "proto": "text/plain",
        "ps": "application/postscript", "psd": "image/vnd.adobe.photoshop", "py": "text/x-python",
        "qt": "video/quicktime", "rar": "application/vnd.rar", "rb": "text/x-ruby", "rpm": "application/x-rpm",
        "rs": "text/x-rust", "rss": "application/rss+xml", "rtf": "application/rtf", "sh": "application/x-sh",
        "sql": "application/sql", "sqlite": "application/vnd.sqlite3", "svg": "image/svg+xml", "svgz": "image/svg+xml",
        "swift": "text/x-swift", "tar": "application/x-tar", "tgz": "application/gzip", "tif": "image/tiff",
        "tiff": "image/tiff", "toml": "application/toml", "torrent": "application/x-bittorrent", "ts": "video/mp2t",
        "tsv": "text/tab-separated-values", "ttf": "font/ttf", "txt": "text/plain", "usdz": "model/vnd.usdz+zip",
        "vcf": "text/vcard", "vtt": "text/vtt", "wasm": "application/wasm", "wav": "audio/wav", "weba": "audio/webm",
        "webm": "video/webm", "webmanifest": "application/manifest+json", "webp": "image/webp", "wma": "audio/x-ms-wma",
        "wmv": "video/x-ms-wmv", "woff": "font/woff", "woff2": "font/woff2", "xhtml": "application/xhtml+xml",
        "xls": "application/vnd.ms-excel", "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "xml": "application/xml", "xsl": "application/xslt+xml", "xz": "application/x-xz", "yaml": "application/yaml",
        "yml": "application/yaml", "zip": "application/zip", "zst": "application/zstd",
    ]
}
