/// A change of an image that depends on its pixels only.
public protocol ImageFilter: Sendable {
    /// The name of the filter and its values, for cache keys. Filters with equal identifiers must give equal results.
    var identifier: String { get }
    /// Returns the changed image.
    func filter(_ image: Image) -> Image
}

/// A filter that applies several filters one after the other.
public struct CompositeFilter: ImageFilter {
    /// The filters, in the order in which they are applied.
    public let filters: [any ImageFilter]

    /// Creates a filter from several.
    public init(_ filters: any ImageFilter...) { self.filters = filters }

    /// The name of the filter and its values, for cache keys.
    public var identifier: String { filters.map(\.identifier).joined(separator: "+") }

    /// Returns the changed image.
    public func filter(_ image: Image) -> Image { filters.reduce(image) { $1.filter($0) } }
}

/// The way in which an image is fitted to a size with another aspect ratio.
public enum ScaleMode: String, Sendable, Hashable {
    /// Exactly that size, distorted if the aspect ratios differ.
    case stretch
    /// As large as possible inside the size.
    case fit
    /// As small as possible around the size. The excess is cropped on both sides.
    case fill
}

/// Scales an image, bilinearly when enlarging and with a weighted average of the pixels when reducing.
public struct ScaledToSizeFilter: ImageFilter {
    /// The size to which the image is fitted. With `.fit` the result may be smaller.
    public let size: ImageSize
    /// The way in which the image is fitted to the size.
    public let mode: ScaleMode

    /// Creates a filter.
    public init(size: ImageSize, mode: ScaleMode = .stretch) {
        self.size = ImageSize(width: max(1, size.width), height: max(1, size.height))
        self.mode = mode
    }

    /// The name of the filter and its values, for cache keys.
    public var identifier: String { "scale-\(mode.rawValue)-\(size.width)x\(size.height)" }

    /// Returns the changed image.
    public func filter(_ image: Image) -> Image {
        let (own, wanted) = (image.size, size)
        let ratios = (Double(wanted.width) / Double(own.width), Double(wanted.height) / Double(own.height))
        switch mode {
        case .stretch:
            return Resampling.scale(image, to: wanted)
        case .fit:
            return Resampling.scale(image, to: own.scaled(by: min(ratios.0, ratios.1)))
        case .fill:
            let covering = own.scaled(by: max(ratios.0, ratios.1))
            guard covering != own else { return CroppedFilter(centre: wanted).filter(image) }
            return Resampling.scale(image, to: covering, middle: wanted)
        }
    }
}

/// Crops an image to a rectangle.
public struct CroppedFilter: ImageFilter {
    private enum Area: Sendable, Hashable {
        case centre(ImageSize)
        case rectangle(x: Int, y: Int, ImageSize)
    }

    private let area: Area

    /// Creates a filter that crops to the middle of the image. The result is at most as large as the image.
    public init(centre size: ImageSize) { area = .centre(size) }

    /// Creates a filter that crops to a rectangle. The rectangle is clamped to the image.
    public init(x: Int, y: Int, size: ImageSize) { area = .rectangle(x: x, y: y, size) }

    /// The name of the filter and its values, for cache keys.
    public var identifier: String {
        switch area {
        case .centre(let size): "crop-centre-\(size.width)x\(size.height)"
        case .rectangle(let x, let y, let size): "crop-\(x),\(y)-\(size.width)x\(size.height)"
        }
    }

    /// Returns the changed image.
    public func filter(_ image: Image) -> Image {
        let (x, y, wanted): (Int, Int, ImageSize)
        switch area {
        case .centre(let size):
            (x, y, wanted) = ((image.size.width - size.width) / 2, (image.size.height - size.height) / 2, size)
        case .rectangle(let left, let top, let size):
            (x, y, wanted) = (left, top, size)
        }
        let left = min(max(0, x), image.size.width - 1)
        let top = min(max(0, y), image.size.height - 1)
        let width = min(max(1, wanted.width), image.size.width - left)
        let height = min(max(1, wanted.height), image.size.height - top)
        return image.withPixels { source in
            Image(width: width, height: height) { target in
                for row in 0..<height {
                    for column in 0..<width {
                        target[row * width + column] = source[(top + row) * image.size.width + left + column]
                    }
                }
            }
        }
    }
}

/// Makes the corners of an image transparent, with a smooth edge.
public struct RoundedCornersFilter: ImageFilter {
    /// The radius of the corners in pixels.
    public let radius: Double

    /// Creates a filter; a negative radius is 0.
    public init(radius: Double) { self.radius = max(0, radius) }

    /// The name of the filter and its values, for cache keys.
    public var identifier: String { "round-\(radius)" }

    /// Returns the changed image.
    public func filter(_ image: Image) -> Image {
        let (width, height) = (image.size.width, image.size.height)
        let radius = min(radius, Double(min(width, height)) / 2)
        return image.withPixels { source in
            Image(width: width, height: height) { target in
                for y in 0..<height {
                    for x in 0..<width {
                        var pixel = source[y * width + x]
                        let coverage = Self.coverage(x: x, y: y, width: width, height: height, radius: radius)
                        if coverage < 1 { pixel.alpha = UInt8((Double(pixel.alpha) * coverage).rounded()) }
                        target[y * width + x] = pixel
                    }
                }
            }
        }
    }

    /// The part of a pixel inside the rounded rectangle, from 0 to 1, estimated from its distance to the corner's arc.
    private static func coverage(x: Int, y: Int, width: Int, height: Int, radius: Double) -> Double {
        let (middleX, middleY) = (Double(x) + 0.5, Double(y) + 0.5)
        let dx = max(radius - middleX, middleX - (Double(width) - radius), 0)
        let dy = max(radius - middleY, middleY - (Double(height) - radius), 0)
        guard dx > 0, dy > 0 else { return 1 }
        return min(max(radius - (dx * dx + dy * dy).squareRoot() + 0.5, 0), 1)
    }
}

/// Crops an image to the largest circle in its middle.
public struct CircleFilter: ImageFilter {
    /// Creates a filter.
    public init() {}

    /// The name of the filter and its values, for cache keys.
    public var identifier: String { "circle" }

    /// Returns the changed image.
    public func filter(_ image: Image) -> Image {
        let side = min(image.size.width, image.size.height)
        let square = CroppedFilter(centre: ImageSize(width: side, height: side)).filter(image)
        return RoundedCornersFilter(radius: Double(side) / 2).filter(square)
    }
}

extension ImageSize {
    func scaled(by factor: Double) -> ImageSize {
        ImageSize(
            width: max(1, Int((Double(width) * factor).rounded())),
            height: max(1, Int((Double(height) * factor).rounded()))
        )
    }
}
