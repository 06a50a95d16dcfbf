/// Resamples images in two passes, rows first unless that needs much memory. Colours are weighted by alpha, so that the
/// colour of transparent pixels does not bleed.
enum Resampling {
    static func scale(_ image: Image, to size: ImageSize) -> Image {
        guard size != image.size else { return image }
        return scale(
            image,
            Weights(from: image.size.width, to: size.width),
            Weights(from: image.size.height, to: size.height)
        )
    }

    /// Scales an image and crops it to the middle. The rest is not computed: for an image that is far wider than high
    /// it would be many times the size of the result.
    static func scale(_ image: Image, to size: ImageSize, middle: ImageSize) -> Image {
        scale(
            image,
            Weights(from: image.size.width, to: size.width, targets: middleRange(middle.width, of: size.width)),
            Weights(from: image.size.height, to: size.height, targets: middleRange(middle.height, of: size.height))
        )
    }

    private static func middleRange(_ length: Int, of whole: Int) -> Range<Int> {
        let length = min(length, whole)
        let start = (whole - length) / 2
        return start..<start + length
    }

    private static func scale(_ image: Image, _ horizontal: Weights, _ vertical: Weights) -> Image {
        let (width, height) = (horizontal.spans.count, vertical.spans.count)
        let size = image.size
        return image.withPixels { source in
            if isColumnsFirst(from: size, to: ImageSize(width: width, height: height)) {
                let columns = sums(vertical, lines: size.width) { Sums(source[$1 * size.width + $0]) }
                return Image(width: width, height: height) { target in
                    pass(horizontal, lines: height) {
                        columns[$1 * height + $0]
                    } result: {
                        target[$0 * width + $1] = $2.pixel
                    }
                }
            }
            let rows = sums(horizontal, lines: size.height) { Sums(source[$0 * size.width + $1]) }
            return Image(width: width, height: height) { target in
                pass(vertical, lines: width) {
                    rows[$1 * width + $0]
                } result: {
                    target[$1 * width + $0] = $2.pixel
                }
            }
        }
    }

    /// Whether the image between the passes would be too large with rows first: above a million pixels, and larger
    /// than both the source and the result.
    ///
    /// If a narrow, high image becomes a wide one, the intermediate image has the height of the first and the width of
    /// the second. With columns first it is then smaller than the larger of the two.
    private static func isColumnsFirst(from size: ImageSize, to wanted: ImageSize) -> Bool {
        wanted.width * size.height > max(size.width * size.height, wanted.width * wanted.height, 1 << 20)
    }

    private static func sums(_ weights: Weights, lines: Int, source: (_ line: Int, _ index: Int) -> Sums) -> [Sums] {
        var sums: [Sums] = []
        sums.reserveCapacity(lines * weights.spans.count)
        pass(weights, lines: lines, source: source) { _, _, sum in sums.append(sum) }
        return sums
    }

    /// Computes the samples line by line, and in order within each line.
    private static func pass(
        _ weights: Weights,
        lines: Int,
        source: (_ line: Int, _ index: Int) -> Sums,
        result: (_ line: Int, _ index: Int, Sums) -> Void
    ) {
        for line in 0..<lines {
            for (index, span) in weights.spans.enumerated() {
                var sum = Sums()
                for (offset, weight) in span.weights.enumerated() {
                    sum.add(source(line, span.start + offset), weight: weight)
                }
                result(line, index, sum)
            }
        }
    }

    /// The weighted sums of the channels, premultiplied by alpha.
    struct Sums {
        private var channels = SIMD4<Float>()

        init() {}

        init(_ pixel: Pixel) {
            let alpha = Float(pixel.alpha)
            channels = SIMD4(Float(pixel.red), Float(pixel.green), Float(pixel.blue), 1) * alpha
        }

        mutating func add(_ other: Sums, weight: Float) { channels += other.channels * weight }

        var pixel: Pixel {
            let alpha = channels.w
            guard alpha > 0 else { return .clear }
            func byte(_ value: Float) -> UInt8 { UInt8(min(max(value.rounded(), 0), 255)) }
            return Pixel(
                red: byte(channels.x / alpha),
                green: byte(channels.y / alpha),
                blue: byte(channels.z / alpha),
                alpha: byte(alpha)
            )
        }
    }

    /// The source samples of each target sample and their weights: a triangle that extends at least one source sample
    /// to each side.
    struct Weights {
        struct Span {
            var start: Int
            var weights: [Float]
        }

        let spans: [Span]

        init(from source: Int, to target: Int, targets: Range<Int>? = nil) {
            let ratio = Double(source) / Double(target)
            let reach = max(1, ratio)
            spans = (targets ?? 0..<target).map { index in
                let centre = (Double(index) + 0.5) * ratio - 0.5
                let first = max(0, Int((centre - reach).rounded(.up)))
                let last = max(first, min(source - 1, Int((centre + reach).rounded(.down))))
                let raw = (first...last).map { max(0, 1 - abs(Double($0) - centre) / reach) }
                let total = raw.reduce(0, +)
                let weights = raw.map { Float(total > 0 ? $0 / total : 1 / Double(raw.count)) }
                return Span(start: first, weights: weights)
            }
        }
    }
}
