/// Separable resampling, rows first. Colours are weighted by alpha, so that transparent pixels do not bleed.
enum Resampling {
    static func scale(_ image: Image, to size: ImageSize) -> Image {
        guard size != image.size else { return image }
        let horizontal = Weights(from: image.size.width, to: size.width)
        let vertical = Weights(from: image.size.height, to: size.height)
        let rows = image.withPixels { source in
            pass(horizontal, lines: image.size.height) { line, index in
                Sums(source[line * image.size.width + index])
            }
        }
        let columns = pass(vertical, lines: size.width) { line, index in rows[index * size.width + line] }
        return Image(width: size.width, height: size.height) { target in
            for x in 0..<size.width {
                for y in 0..<size.height { target[y * size.width + x] = columns[x * size.height + y].pixel }
            }
        }
    }

    /// Every line resampled, stored line after line.
    private static func pass(_ weights: Weights, lines: Int, source: (Int, Int) -> Sums) -> [Sums] {
        var result: [Sums] = []
        result.reserveCapacity(lines * weights.spans.count)
        for line in 0..<lines {
            for span in weights.spans {
                var sum = Sums()
                for (offset, weight) in span.weights.enumerated() {
                    sum.add(source(line, span.start + offset), weight: weight)
                }
                result.append(sum)
            }
        }
        return result
    }

    /// Premultiplied channels.
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

    /// Which source samples make up each target sample: a triangle at least one source sample wide on each side.
    struct Weights {
        struct Span {
            var start: Int
            var weights: [Float]
        }

        let spans: [Span]

        init(from source: Int, to target: Int) {
            let ratio = Double(source) / Double(target)
            let reach = max(1, ratio)
            spans = (0..<target).map { index in
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
