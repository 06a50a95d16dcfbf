internal import CGdkPixbuf
public import Foundation

/// Decodes images, within limits that are checked before pixels are allocated.
///
/// Decoding is synchronous and takes milliseconds for a photograph. Do not call it on a thread that must not block.
public struct ImageDecoder: Sendable {
    /// The limits for the size of an image. A file of a few hundred bytes can claim gigabytes of pixels.
    public struct Limits: Sendable, Hashable {
        /// The maximum width and height.
        public var maximumDimension: Int
        /// The maximum number of pixels. All pictures of an animated GIF together may have four times as many.
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

        /// The first picture that is too large by itself or in total. `nil` if all are acceptable.
        ///
        /// The library decodes every picture, although only one is used. Four times the pixels of one picture are
        /// enough for animations and bound the work that a small file can cause.
        func refused(_ pictures: [ImageSize]) -> ImageSize? {
            var total = 0
            return pictures.first { size in
                guard allow(size) else { return true }
                total += size.width * size.height
                return total / 4 > maximumPixels
            }
        }
    }

    /// The limits. Larger images are refused before their pixels are decoded.
    public var limits: Limits

    /// Creates a decoder.
    public init(limits: Limits = Limits()) { self.limits = limits }

    /// Decodes an image of any format for which the system has a loader.
    public func decode(_ data: Data) throws(ImageError) -> Image {
        guard !data.isEmpty else { throw .empty }
        guard let format = ImageFormat(recognising: data) else { throw .unknownFormat }
        if format == .gif, let size = limits.refused(GIFFrames.sizes(in: data)) { throw .tooLarge(size) }
        let loader = try PixbufLoader(format: format, limits: limits)
        try loader.write(data)
        return try loader.finish()
    }
}

/// The reason that bytes could not be decoded to an image.
public enum ImageError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The data is empty.
    case empty
    /// The first bytes are those of no supported format.
    case unknownFormat
    /// The system's image library lacks a loader for the format (WebP: install webp-pixbuf-loader).
    case unsupported(ImageFormat)
    /// The image exceeds the limits.
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
