import CurlewImage
import Foundation
import Testing

@Suite("Decoding pictures")
struct DecoderTests {
    static func fixture(_ name: String) throws -> Data {
        let url = try #require(Bundle.module.url(forResource: "Fixtures/\(name)", withExtension: nil))
        return try Data(contentsOf: url)
    }

    @Test(arguments: [
        ("plain.jpg", ImageFormat.jpeg), ("plain.gif", .gif), ("plain.webp", .webp), ("plain.tiff", .tiff),
        ("plain.bmp", .bmp),
    ])
    func `every format is recognised by content and decoded`(name: String, format: ImageFormat) throws {
        let data = try Self.fixture(name)
        #expect(ImageFormat(recognising: data) == format)
        let image = try ImageDecoder().decode(data)
        #expect(image.size == ImageSize(width: 16, height: 8))
        let pixel = try #require(image[8, 4])
        // JPEG's compression and GIF's palette may change the colour slightly.
        #expect(abs(Int(pixel.red) - 200) < 4 && abs(Int(pixel.green) - 100) < 4 && abs(Int(pixel.blue) - 50) < 4)
        #expect(pixel.alpha == 255)
    }

    @Test func `a PNG gives its exact pixels, alpha included`() throws {
        let image = try ImageDecoder().decode(Self.fixture("six.png"))
        #expect(image.size == ImageSize(width: 3, height: 2))
        #expect(image[0, 0] == Pixel(red: 255, green: 0, blue: 0))
        #expect(image[2, 0] == Pixel(red: 0, green: 0, blue: 255))
        #expect(image[2, 1] == Pixel(red: 10, green: 20, blue: 30, alpha: 128))
        #expect(image[3, 0] == nil)
    }

    @Test(arguments: [[UInt8](), [0], [0xFF, 0x01]])
    func `a GIF is refused whose pictures are small alone and too many`(stray: [UInt8]) throws {
        var data = Data("GIF89a".utf8) + Data([1, 0, 1, 0, 0x80, 0, 0] + [0, 0, 0, 255, 255, 255])
        // A picture of 10 x 10 pixels.
        let picture = Data(stray + [0x2C, 0, 0, 0, 0, 10, 0, 10, 0, 0, 2, 2, 0x4C, 0x01, 0])
        // The pixels of 39 pictures and of the screen are less than four times the limit for one picture.
        for _ in 0..<39 { data += picture }
        let decoder = ImageDecoder(limits: .init(maximumDimension: 100, maximumPixels: 1_000))
        do throws(ImageError) {
            _ = try decoder.decode(data + [0x3B])
        } catch {
            #expect(error != .tooLarge(ImageSize(width: 10, height: 10)))
        }
        for _ in 0..<2 { data += picture }
        #expect(throws: ImageError.tooLarge(ImageSize(width: 10, height: 10))) { try decoder.decode(data + [0x3B]) }
    }

    @Test func `bytes between a GIF's pictures hide none of them`() throws {
        var data = Data("GIF89a".utf8) + Data([1, 0, 1, 0, 0x80, 0, 0] + [0, 0, 0, 255, 255, 255])
        data += Data([0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x4C, 0x01, 0, 0x00, 0x7F])
        data += Data([0x2C, 0, 0, 0, 0, 0xD8, 0x59, 0xD8, 0x59, 0, 2, 2, 0x4C, 0x01, 0, 0x3B])
        #expect(throws: ImageError.tooLarge(ImageSize(width: 23_000, height: 23_000))) {
            try ImageDecoder().decode(data)
        }
    }

    @Test func `a photograph is turned upright`() throws {
        let image = try ImageDecoder().decode(Self.fixture("turned.jpg"))
        #expect(image.size == ImageSize(width: 8, height: 16))
    }

    @Test func `a few bytes that claim gigabytes are refused before they are allocated`() throws {
        let data = try Self.fixture("bomb.png")
        #expect(throws: ImageError.tooLarge(ImageSize(width: 50_000, height: 50_000))) {
            try ImageDecoder().decode(data)
        }
    }

    @Test func `a picture larger than its GIF's screen is refused before it is decoded`() throws {
        // A screen of 1 x 1 with two colours, an extension, and a picture of 23,000 x 23,000.
        var data = Data("GIF89a".utf8) + Data([1, 0, 1, 0, 0x80, 0, 0] + [0, 0, 0, 255, 255, 255])
        data += Data([0x21, 0xF9, 4, 0, 0, 0, 0, 0])
        data += Data([0x2C, 0, 0, 0, 0, 0xD8, 0x59, 0xD8, 0x59, 0, 2, 2, 0x4C, 0x01, 0, 0x3B])
        #expect(throws: ImageError.tooLarge(ImageSize(width: 23_000, height: 23_000))) {
            try ImageDecoder().decode(data)
        }
        // A small first picture does not hide the size of the second one.
        let small = Data([0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x4C, 0x01, 0])
        data.replaceSubrange(19..<19, with: small)
        #expect(throws: ImageError.tooLarge(ImageSize(width: 23_000, height: 23_000))) {
            try ImageDecoder().decode(data)
        }
    }

    @Test func `limits of the caller hold`() throws {
        let data = try Self.fixture("plain.gif")
        #expect(throws: ImageError.tooLarge(ImageSize(width: 16, height: 8))) {
            try ImageDecoder(limits: .init(maximumDimension: 16, maximumPixels: 127)).decode(data)
        }
        #expect(throws: ImageError.tooLarge(ImageSize(width: 16, height: 8))) {
            try ImageDecoder(limits: .init(maximumDimension: 15)).decode(data)
        }
    }

    @Test(arguments: ["six.png", "plain.jpg", "plain.gif", "plain.webp", "plain.tiff", "plain.bmp"])
    func `a picture cut anywhere is an error or a picture, never a crash`(name: String) throws {
        let whole = try Self.fixture(name)
        for length in 0..<whole.count {
            do {
                let image = try ImageDecoder().decode(whole.prefix(length))
                #expect((1...16).contains(image.size.width))
            } catch {
                #expect(error != .unknownFormat || length < 12)
            }
        }
    }

    @Test(arguments: ["six.png", "plain.jpg", "plain.webp", "plain.tiff"])
    func `changed bytes never crash`(name: String) throws {
        let whole = try Self.fixture(name)
        for position in whole.indices {
            var broken = whole
            broken[position] ^= 0xA5
            _ = try? ImageDecoder().decode(broken)
        }
    }

    @Test func `other content is refused by name`() {
        #expect(throws: ImageError.empty) { try ImageDecoder().decode(Data()) }
        #expect(throws: ImageError.unknownFormat) { try ImageDecoder().decode(Data("<svg/>".utf8)) }
        #expect(throws: ImageError.unknownFormat) { try ImageDecoder().decode(Data("not a picture".utf8)) }
    }
}
