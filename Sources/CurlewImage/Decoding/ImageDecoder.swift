internal import CGdkPixbuf
public import Foundation

/// Turns bytes into pixels, within limits that are checked before the pixels are allocated.
///
/// Decoding is synchronous and takes milliseconds for a photograph: call it where that does not hurt.
public struct ImageDecoder: Sendable {
    /// The largest image that is decoded. A file of a few hundred bytes can claim gigabytes of pixels.
    public struct Limits: Sendable, Hashable {
        /// Longest side.
        public var maximumDimension: Int
        /// Most pixels altogether. The pictures of an animation may have four times as many.
        public var maximumPixels: Int

        /// Creates limits.
        public init(maximumDimension: Int = 16_384, maximumPixels: Int = 64 * 1024 * 1024) {
            self.maximumDimension = maximumDimension
            self.maximumPixels = maximumPixels
        }

        func allow(_ size: ImageSize) -> Bool {
            size.width <= maximumDimension && size.height <= maximumDimension
                && size.width * size.height <= maximumPixels
        }

        /// The first picture of a file that is too large, or with which all of them are. Every picture is decoded, though one
        /// is kept: four times the pixels of one picture leave room for animations, and bound the work that a small file makes.
        func refused(_ pictures: [ImageSize]) -> ImageSize? {
            var total = 0
            return pictures.first { size in
                guard allow(size) else { return true }
                total += size.width * size.height
                return total / 4 > maximumPixels
            }
        }
    }

    /// What is refused before a pixel of it is decoded.
    public var limits: Limits

    /// Creates a decoder.
    public init(limits: Limits = Limits()) { self.limits = limits }

    /// Decodes an image of any format that is installed.
    public func decode(_ data: Data) throws(ImageError) -> Image {
        guard !data.isEmpty else { throw .empty }
        guard let format = ImageFormat(recognising: data) else { throw .unknownFormat }
        if format == .gif, let size = limits.refused(GIFFrames.sizes(in: data)) { throw .tooLarge(size) }
        let loader = try PixbufLoader(format: format, limits: limits)
        try loader.write(data)
        return try loader.finish()
    }
}

/// Why bytes did not become an image.
public enum ImageError: Error, Sendable, Hashable, CustomStringConvertible {
    /// There are no bytes.
    case empty
    /// The first bytes are of no format that is known.
    case unknownFormat
    /// This system's image library lacks the format (WebP: install webp-pixbuf-loader).
    case unsupported(ImageFormat)
    /// The image is above the limits.
    case tooLarge(ImageSize)
    /// The bytes are damaged or end too early.
    case corrupt(ImageFormat, reason: String)

    public var description: String {
        switch self {
        case .empty: "there are no bytes"
        case .unknownFormat: "the bytes are of no known image format"
        case .unsupported(let format): "this system's gdk-pixbuf cannot read \(format.rawValue)"
        case .tooLarge(let size): "the picture is \(size), above the limit"
        case .corrupt(let format, let reason): "the \(format.rawValue) is corrupt: \(reason)"
        }
    }
}
