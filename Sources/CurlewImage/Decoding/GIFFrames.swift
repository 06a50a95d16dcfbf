internal import Foundation

/// The sizes of a GIF's pictures, which its head does not tell: gdk-pixbuf makes room for a picture of any size within a
/// screen of one pixel.
enum GIFFrames {
    /// The sizes of the screen and of all pictures, as far as the file can be read. A picture's size counts from the corner of
    /// the screen.
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
                // The colours and the length of the first code.
                reader.skip(colours(flags) + 1)
            case 0x3B: return sizes
            // gdk-pixbuf looks for the next picture behind bytes that are none of these.
            default: continue
            }
            while let length = reader.byte(), length > 0 { reader.skip(Int(length)) }
        }
        return sizes
    }

    /// The size of a table of colours in bytes.
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

        /// Two numbers of two bytes.
        mutating func size() -> ImageSize? {
            guard let a = byte(), let b = byte(), let c = byte(), let d = byte() else { return nil }
            return ImageSize(width: Int(a) | Int(b) << 8, height: Int(c) | Int(d) << 8)
        }
    }
}
