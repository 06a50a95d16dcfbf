/// A decoded image. It consists of rows of RGBA pixels with eight bits for each channel; colours are not premultiplied
/// by alpha. Copies share their pixels.
public struct Image: Sendable, Equatable {
    /// The width and height.
    public let size: ImageSize
    /// The pixels, row by row from the top: `size.width * size.height * 4` bytes in the order red, green, blue, alpha.
    public let pixels: [UInt8]

    /// Creates an image. `nil` if the size is empty or `pixels` has not exactly four bytes for each pixel.
    public init?(size: ImageSize, pixels: [UInt8]) {
        guard size.width > 0, size.height > 0, size.byteCount == pixels.count else { return nil }
        self.size = size
        self.pixels = pixels
    }

    /// Creates an image of a size that is known to be valid.
    init(width: Int, height: Int, filling body: (UnsafeMutableBufferPointer<Pixel>) -> Void) {
        size = ImageSize(width: max(1, width), height: max(1, height))
        let count = size.width * size.height
        pixels = [UInt8](unsafeUninitializedCapacity: count * 4) { buffer, written in
            buffer.initialize(repeating: 0)
            buffer.withMemoryRebound(to: Pixel.self, body)
            written = count * 4
        }
    }

    /// The number of bytes in memory.
    public var byteCount: Int { pixels.count }

    /// The pixel in column `x` of row `y`, or `nil` outside the image.
    public subscript(x: Int, y: Int) -> Pixel? {
        guard (0..<size.width).contains(x), (0..<size.height).contains(y) else { return nil }
        let at = (y * size.width + x) * 4
        return Pixel(red: pixels[at], green: pixels[at + 1], blue: pixels[at + 2], alpha: pixels[at + 3])
    }

    func withPixels<R>(_ body: (UnsafeBufferPointer<Pixel>) -> R) -> R {
        pixels.withUnsafeBytes { body($0.bindMemory(to: Pixel.self)) }
    }
}

/// One pixel, with a layout of four consecutive bytes.
public struct Pixel: Sendable, Hashable {
    /// Red, 0 to 255.
    public var red: UInt8
    /// Green, 0 to 255.
    public var green: UInt8
    /// Blue, 0 to 255.
    public var blue: UInt8
    /// The opacity, 0 to 255.
    public var alpha: UInt8

    /// Creates a pixel.
    public init(red: UInt8, green: UInt8, blue: UInt8, alpha: UInt8 = 255) {
        self.red = red
        self.green = green
        self.blue = blue
        self.alpha = alpha
    }

    /// A transparent pixel.
    public static let clear = Pixel(red: 0, green: 0, blue: 0, alpha: 0)
}

/// A width and height in pixels.
public struct ImageSize: Sendable, Hashable, CustomStringConvertible {
    /// The number of pixels from left to right.
    public var width: Int
    /// The number of pixels from top to bottom.
    public var height: Int

    /// Creates a size.
    public init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }

    /// The number of bytes of RGBA pixels, or `nil` if it exceeds an `Int`.
    var byteCount: Int? {
        let (area, overflow) = width.multipliedReportingOverflow(by: height)
        let (bytes, overflows) = area.multipliedReportingOverflow(by: 4)
        return overflow || overflows ? nil : bytes
    }

    public var description: String { "\(width)×\(height)" }
}
