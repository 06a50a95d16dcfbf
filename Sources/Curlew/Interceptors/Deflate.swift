internal import CZlib
internal import CurlewCore
package import Foundation

/// Compression by zlib, whose manual is zlib.h.
package enum Deflate {
    /// The raw value is the coding's name.
    package enum Format: String {
        /// RFC 1950: what HTTP calls deflate.
        case zlib = "deflate"
        case gzip

        /// 15 bits of window; 16 more ask for a gzip wrapper.
        var windowBits: Int32 {
            switch self {
            case .zlib: 15
            case .gzip: 15 + 16
            }
        }
    }

    // Level 5: the header says "fast", as that of Alamofire's compressor does (0x78 0x5E).
    private static let level: Int32 = 5
    private static let memoryLevel: Int32 = 8

    package static func compressed(_ data: Data, as format: Format) throws -> Data {
        var stream = z_stream()
        let code = deflateInit2_(
            &stream,
            level,
            Z_DEFLATED,
            format.windowBits,
            memoryLevel,
            Z_DEFAULT_STRATEGY,
            zlibVersion(),
            Int32(MemoryLayout<z_stream>.size)
        )
        guard code == Z_OK else { throw failure(code) }
        defer { deflateEnd(&stream) }

        var output = Data(count: Int(deflateBound(&stream, uLong(data.count))))
        let written = try data.withUnsafeBytes { input in
            try output.withUnsafeMutableBytes { try run(&stream, from: input, into: $0) }
        }
        return output.prefix(written)
    }

    /// zlib counts in 32 bits: larger bodies go through in steps.
    private static func run(
        _ stream: inout z_stream,
        from input: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) throws -> Int {
        let step = Int(UInt32.max / 2)
        var (read, written) = (0, 0)
        while true {
            let available = min(step, input.count - read)
            let room = min(step, output.count - written)
            // zlib does not write through next_in; C had no const when it was declared.
            stream.next_in = UnsafeMutablePointer(
                mutating: input.baseAddress?.advanced(by: read).assumingMemoryBound(to: Bytef.self)
            )
            stream.avail_in = uInt(available)
            stream.next_out = output.baseAddress?.advanced(by: written).assumingMemoryBound(to: Bytef.self)
            stream.avail_out = uInt(room)
            let isLast = read + available == input.count
            let code = deflate(&stream, isLast ? Z_FINISH : Z_NO_FLUSH)
            read += available - Int(stream.avail_in)
            written += room - Int(stream.avail_out)
            if code == Z_STREAM_END { return written }
            guard code == Z_OK else { throw failure(code) }
        }
    }

    private static func failure(_ code: Int32) -> CurlewError {
        CurlewError(
            .invalidBody,
            phase: .adaptation,
            reason: "zlib could not compress the body.",
            native: .init(number: Int(code), name: "zlib")
        )
    }
}
