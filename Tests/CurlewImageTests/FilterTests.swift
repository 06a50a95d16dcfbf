import CurlewImage
import Testing

@Suite("Filters")
struct FilterTests {
    private static func gradient(_ width: Int, _ height: Int) -> Image {
        var pixels: [UInt8] = []
        for y in 0..<height {
            for x in 0..<width {
                pixels += [UInt8(x * 255 / max(1, width - 1)), UInt8(y * 255 / max(1, height - 1)), 7, 255]
            }
        }
        return Image(size: ImageSize(width: width, height: height), pixels: pixels)!
    }

    @Test(arguments: [
        (ScaleMode.stretch, 10, 10, 10, 10), (.fit, 10, 10, 10, 5), (.fill, 10, 10, 10, 10), (.fit, 400, 400, 400, 200),
        (.fill, 1, 1, 1, 1), (.fit, 1, 1, 1, 1),
    ])
    func `scaling gives the size that the mode says`(
        mode: ScaleMode, width: Int, height: Int, resultWidth: Int, resultHeight: Int
    ) {
        let image = ScaledToSizeFilter(size: ImageSize(width: width, height: height), mode: mode).filter(
            Self.gradient(40, 20))
        #expect(image.size == ImageSize(width: resultWidth, height: resultHeight))
    }

    @Test(arguments: [(40, 20, 10, 10), (20, 41, 30, 7), (7, 3, 1, 50)])
    func `filling makes the middle of the covering picture`(
        width: Int, height: Int, wantedWidth: Int, wantedHeight: Int
    ) {
        let wanted = ImageSize(width: wantedWidth, height: wantedHeight)
        let ratio = max(Double(wantedWidth) / Double(width), Double(wantedHeight) / Double(height))
        let covering = ImageSize(
            width: Int((Double(width) * ratio).rounded()), height: Int((Double(height) * ratio).rounded()))
        let image = Self.gradient(width, height)
        let whole = ScaledToSizeFilter(size: covering).filter(image)
        #expect(
            ScaledToSizeFilter(size: wanted, mode: .fill).filter(image) == CroppedFilter(centre: wanted).filter(whole))
    }

    @Test func `filling with a line of pixels makes no more than is wanted`() {
        // The whole scaled picture, of which the result is a part, would have 655 million pixels.
        let line = Image(size: ImageSize(width: 16_384, height: 1), pixels: Array(repeating: 90, count: 16_384 * 4))!
        let filled = ScaledToSizeFilter(size: ImageSize(width: 200, height: 200), mode: .fill).filter(line)
        #expect(filled.size == ImageSize(width: 200, height: 200))
        #expect(filled[199, 199] == Pixel(red: 90, green: 90, blue: 90, alpha: 90))
    }

    @Test(arguments: [(1, 16_384, 16_384, 1), (16_384, 1, 1, 16_384), (2, 8_000, 8_000, 3)])
    func `stretching a line of pixels to the other direction takes no more than both`(
        width: Int, height: Int, wantedWidth: Int, wantedHeight: Int
    ) throws {
        // With the wrong order, the image between the passes would have 268 million pixels of 16 bytes.
        let line = Self.gradient(width, height)
        let wanted = ImageSize(width: wantedWidth, height: wantedHeight)
        let image = ScaledToSizeFilter(size: wanted).filter(line)
        #expect(image.size == wanted)
        let middle = try #require(image[wantedWidth / 2, wantedHeight / 2])
        #expect(width > height ? abs(Int(middle.red) - 127) <= 1 : abs(Int(middle.green) - 127) <= 1)
    }

    @Test func `the order of the passes is not seen`() throws {
        // Scaling from 3 × 2,000 to 1,000 × 5 begins with the columns, each of the two steps with the rows.
        let image = Self.gradient(3, 2_000)
        let direct = ScaledToSizeFilter(size: ImageSize(width: 1_000, height: 5)).filter(image)
        let lower = ScaledToSizeFilter(size: ImageSize(width: 3, height: 5)).filter(image)
        let halves = ScaledToSizeFilter(size: ImageSize(width: 1_000, height: 5)).filter(lower)
        #expect(zip(direct.pixels, halves.pixels).allSatisfy { abs(Int($0) - Int($1)) <= 1 })
        #expect(direct[0, 2] != direct[999, 2] && direct[0, 0] != direct[0, 4])
    }

    @Test func `scaling keeps a plain colour and the order of a gradient`() throws {
        let plain = Image(size: ImageSize(width: 7, height: 5), pixels: Array(repeating: 90, count: 140))!
        let larger = ScaledToSizeFilter(size: ImageSize(width: 13, height: 11)).filter(plain)
        #expect(larger.pixels.allSatisfy { abs(Int($0) - 90) <= 1 })
        let small = ScaledToSizeFilter(size: ImageSize(width: 8, height: 4)).filter(Self.gradient(64, 32))
        let reds = try (0..<8).map { try #require(small[$0, 2]).red }
        #expect(reds == reds.sorted() && Set(reds).count == 8)
    }

    @Test func `transparent pixels do not colour their neighbours`() throws {
        let pixels: [UInt8] = [255, 0, 0, 255, 0, 255, 0, 0]
        let image = Image(size: ImageSize(width: 2, height: 1), pixels: pixels)!
        let one = ScaledToSizeFilter(size: ImageSize(width: 1, height: 1)).filter(image)
        let pixel = try #require(one[0, 0])
        #expect(pixel.red == 255 && pixel.green == 0 && (120...135).contains(pixel.alpha))
    }

    @Test func `cropping keeps the rectangle and stays inside the picture`() {
        let image = Self.gradient(10, 10)
        let part = CroppedFilter(x: 2, y: 3, size: ImageSize(width: 4, height: 5)).filter(image)
        #expect(part.size == ImageSize(width: 4, height: 5))
        #expect(part[0, 0] == image[2, 3] && part[3, 4] == image[5, 7])
        #expect(
            CroppedFilter(x: 8, y: 8, size: ImageSize(width: 50, height: 50)).filter(image).size
                == ImageSize(width: 2, height: 2))
        #expect(
            CroppedFilter(x: -5, y: 99, size: ImageSize(width: 0, height: -1)).filter(image).size
                == ImageSize(width: 1, height: 1))
        #expect(CroppedFilter(centre: ImageSize(width: 2, height: 2)).filter(image)[0, 0] == image[4, 4])
    }

    @Test func `rounded corners are clear and the middle is untouched`() {
        let image = Self.gradient(20, 20)
        let rounded = RoundedCornersFilter(radius: 6).filter(image)
        #expect(rounded[0, 0]?.alpha == 0 && rounded[19, 19]?.alpha == 0)
        #expect(rounded[10, 0] == image[10, 0] && rounded[10, 10] == image[10, 10])
        #expect(RoundedCornersFilter(radius: 0).filter(image) == image)
        let circle = CircleFilter().filter(Self.gradient(30, 20))
        #expect(
            circle.size == ImageSize(width: 20, height: 20) && circle[0, 0]?.alpha == 0 && circle[10, 10]?.alpha == 255)
    }

    @Test func `filters compose, and their identifiers tell them apart`() {
        let size = ImageSize(width: 4, height: 4)
        let both = CompositeFilter(ScaledToSizeFilter(size: size, mode: .fill), CircleFilter())
        #expect(both.filter(Self.gradient(16, 8)).size == size)
        #expect(both.identifier == "scale-fill-4x4+circle")
    }
}
