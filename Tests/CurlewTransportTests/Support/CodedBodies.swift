import Foundation

@testable import CurlewTesting

/// One body in every content coding.
enum CodedBodies {
    /// Random bytes, which compress badly.
    static let text: Data = {
        var random = SplitMix(seed: 7)
        return Data((0..<3000).map { _ in UInt8(truncatingIfNeeded: random.next() >> 20) & 0x3F })
    }()

    static let gzip = Compression.deflated(text, windowBits: 31) ?? Data()
    static let zlib = Compression.deflated(text, windowBits: 15) ?? Data()
    static let rawDeflate = Compression.deflated(text, windowBits: -15) ?? Data()
    static let brotli = Compression.brotli(text)
    static let zstd = zstd(of: text)

    /// Returns a frame with one uncompressed block and without a checksum (RFC 8878, 3.1.1).
    static func zstd(of data: Data) -> Data {
        var frame = Data([0x28, 0xB5, 0x2F, 0xFD])
        // A single segment. Its size is stored in two bytes, less 256.
        frame.append(contentsOf: [0x60, UInt8((data.count - 256) & 255), UInt8((data.count - 256) >> 8)])
        let block = data.count << 3 | 1
        frame.append(contentsOf: [UInt8(block & 255), UInt8(block >> 8 & 255), UInt8(block >> 16)])
        return frame + data
    }

    static func gzip(of data: Data) -> Data? { Compression.deflated(data, windowBits: 31) }

    /// Names of codings, each with the body as servers send it under that name. Some send zlib's format as "gzip", and
    /// the format without a header as "deflate".
    static let all: [(coding: String, bytes: Data)] = [
        ("gzip", gzip), ("x-gzip", gzip), ("gzip", zlib), ("deflate", zlib), ("deflate", rawDeflate), ("br", brotli),
        ("zstd", zstd),
    ]
}
