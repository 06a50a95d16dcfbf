internal import Foundation

/// Reads the sizes of all pictures in a GIF. The header contains only the size of the screen, and gdk-pixbuf allocates
/// memory for a picture of any size even if the screen is one pixel.
enum GIFFrames {
    /// The sizes of the screen and of all pictures, as far as the file can be read. The size of a picture includes its
    /// offset from the corner of the screen.
    static func sizes(in data: Data) -> [ImageSize] {
        var reader = Reader(bytes: data)
        reader.skip(6)
        guard let screen = reader.size(), let flags = reader.byte() else { return [] }
        var sizes = [screen]
        reader.skip(2 + colours(flags))
        while let introducer = reader.byte() {
            switch introducer {
            case 0x21: reader.skip(1)
            case 0x2C:
                guard let place = reader.size(), let picture = reader.size(), let flags = reader.byte() else {
                    return sizes
                }
                sizes.append(
                    ImageSize(width: place.width + picture.width, height: place.height + picture.height))
                // Skips the colours and the minimum code size.
                reader.skip(colours(flags) + 1)
            case 0x3B: return sizes
            // gdk-pixbuf skips unknown bytes and looks for a picture after them.
            default: continue
            }
            while let length = reader.byte(), length > 0 { reader.skip(Int(length)) }
        }
        return sizes
    }

    /// The size of a colour table in bytes.
    private static func colours(_ flags: UInt8) -> Int { flags & 0x80 == 0 ? 0 : 3 << (Int(flags & 7) + 1) }

    private struct Reader {
        let bytes: Data
        private var offset = 0

        init(bytes: Data) { self.bytes = bytes }

        mutating func skip(_ count: Int) { offset = min(bytes.count, offset + count) }

        mutating func byte() -> UInt8? {
            guard offset < bytes.count else { return nil }
            defer { offset += 1 }
            return bytes[bytes.startIndex + offset]
        }

        /// Two 16-bit numbers, little-endian.
        mutating func size() -> ImageSize? {
            guard let a = byte(), let b = byte(), let c = byte(), let d = byte() else { return nil }
            return ImageSize(width: Int(a) | Int(b) << 8, height: Int(c) | Int(d) << 8)
        }
    }
}
