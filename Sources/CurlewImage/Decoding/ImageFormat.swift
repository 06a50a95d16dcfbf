/// The supported image formats. They are recognised by their first bytes, because the content type of a response is
/// often wrong.
public enum ImageFormat: String, Sendable, Hashable, CaseIterable {
    /// PNG.
    case png
    /// JPEG.
    case jpeg
    /// GIF. Only the first image of an animation is decoded.
    case gif
    /// WebP, if the system has a loader for it.
    case webp
    /// TIFF.
    case tiff
    /// BMP.
    case bmp

    /// `nil` for all other formats, including SVG and others that can refer to further resources.
    public init?(recognising bytes: some Sequence<UInt8>) {
        let head = Array(bytes.prefix(12))
        func starts(_ magic: [UInt8], at offset: Int = 0) -> Bool { head.dropFirst(offset).starts(with: magic) }
        if starts([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            self = .png
        } else if starts([0xFF, 0xD8, 0xFF]) {
            self = .jpeg
        } else if starts(Array("GIF87a".utf8)) || starts(Array("GIF89a".utf8)) {
            self = .gif
        } else if starts(Array("RIFF".utf8)), starts(Array("WEBP".utf8), at: 8) {
            self = .webp
        } else if starts([0x49, 0x49, 0x2A, 0x00]) || starts([0x4D, 0x4D, 0x00, 0x2A]) {
            self = .tiff
        } else if starts(Array("BM".utf8)) {
            self = .bmp
        } else {
            return nil
        }
    }

    /// The media type, for example `image/png`.
    public var mediaType: String { "image/\(rawValue)" }

    /// The content types that servers use for these formats.
    public static let acceptableContentTypes: Set<String> = [
        "image/png", "image/jpeg", "image/jpg", "image/gif", "image/webp", "image/tiff", "image/bmp", "image/x-bmp",
        "image/x-ms-bmp", "image/x-xbitmap", "image/x-win-bitmap", "application/octet-stream",
    ]
}
