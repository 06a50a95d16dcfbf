internal import CZlib
internal import Foundation

extension StandardRoutes {
    /// Content codings.
    static let compression: [Entry] = [
        Entry("/gzip", nil) { request in
            coded("gzip", Compression.deflated(body(request, "gzipped"), windowBits: 31))
        },
        Entry("/deflate", nil) { request in
            coded("deflate", Compression.deflated(body(request, "deflated"), windowBits: 15))
        },
        Entry("/brotli", nil) { request in coded("br", Compression.brotli(body(request, "brotli"))) },
        Entry("/bomb/{count}") { request in
            let count = try request.count("count", upTo: largestBody)
            return coded("gzip", Compression.zeros(count), type: "application/octet-stream")
        },
    ]

    private static func body(_ request: TestServer.Request, _ name: String) -> Data {
        Data((JSONValue.echo(request).adding([(name, .bool(true))]).text + "\n").utf8)
    }

    private static func coded(
        _ coding: String,
        _ data: Data?,
        type: String = "application/json"
    ) -> TestServer.Response {
        guard let data else { return .text("zlib failed\n", status: 500) }
        return .data(data, type: type).header("Content-Encoding", coding)
    }
}

/// Encoders of content codings.
enum Compression {
    /// Compresses to gzip with 31 window bits, to zlib (HTTP's "deflate") with 15, to raw DEFLATE with -15.
    static func deflated(_ data: Data, windowBits: Int32, flush: Int32 = Z_FINISH) -> Data? {
        var stream = z_stream()
        let size = Int32(MemoryLayout<z_stream>.size)
        guard
            deflateInit2_(&stream, 6, Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size) == Z_OK
        else { return nil }
        defer { deflateEnd(&stream) }
        var output = Data(count: Int(deflateBound(&stream, UInt(data.count))) + 64)
        let written: Int? = output.withUnsafeMutableBytes { room in
            data.withUnsafeBytes { bytes in
                // zlib's input pointer is not const, but zlib does not write to it.
                stream.next_in = UnsafeMutablePointer(mutating: bytes.bindMemory(to: UInt8.self).baseAddress)
                stream.avail_in = UInt32(bytes.count)
                stream.next_out = room.bindMemory(to: UInt8.self).baseAddress
                stream.avail_out = UInt32(room.count)
                let code = deflate(&stream, flush)
                return code == Z_STREAM_END || code == Z_OK ? Int(stream.total_out) : nil
            }
        }
        return written.map { output.prefix($0) }
    }

    /// A gzip stream of zeros, about a thousandth of their size: one flushed block, repeated.
    static func zeros(_ count: Int) -> Data? {
        let blockSize = 1 << 20
        let block = Data(count: blockSize)
        guard let flushed = deflated(block, windowBits: -15, flush: Z_FULL_FLUSH),
            let rest = deflated(Data(count: count % blockSize), windowBits: -15)
        else { return nil }
        var check = crc32(0, nil, 0)
        let blockCheck = crc(block)
        var output = Data([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255])
        for _ in 0..<count / blockSize {
            output.append(flushed)
            check = crc32_combine(check, blockCheck, blockSize)
        }
        output.append(rest)
        check = crc32_combine(check, crc(Data(count: count % blockSize)), count % blockSize)
        for value in [UInt32(truncatingIfNeeded: check), UInt32(truncatingIfNeeded: count)] {
            withUnsafeBytes(of: value.littleEndian) { output.append(contentsOf: $0) }
        }
        return output
    }

    static func crc(_ data: Data) -> UInt {
        data.withUnsafeBytes { crc32(0, $0.bindMemory(to: UInt8.self).baseAddress, UInt32($0.count)) }
    }

    /// Encodes Brotli as uncompressed meta-blocks (RFC 7932), so that no encoder is needed.
    static func brotli(_ data: Data) -> Data {
        var output = Data()
        var rest = data[...]
        // A single 0 bit selects a window of 16 bits; it precedes the first block's header.
        var bitsBefore: UInt32 = 1
        while !rest.isEmpty {
            let part = rest.prefix(65_536)
            rest = rest.dropFirst(part.count)
            // Not the last (1 bit), length in 4 nibbles (2 bits), length - 1 (16 bits), uncompressed (1 bit).
            let header = (UInt32(part.count - 1) << 3 | 1 << 19) << bitsBefore
            bitsBefore = 0
            output.append(contentsOf: [UInt8(header & 255), UInt8(header >> 8 & 255), UInt8(header >> 16)])
            output.append(part)
        }
        // The last block is empty.
        output.append(UInt8(3 << bitsBefore))
        return output
    }
}

extension Compression {
    /// Reverses `deflated`. A gzip body may have several members. Returns `nil` if the body is truncated, invalid, or
    /// longer than `limit`.
    static func inflated(_ data: Data, windowBits: Int32, limit: Int) -> Data? {
        var stream = z_stream()
        guard inflateInit2_(&stream, windowBits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            return nil
        }
        defer { inflateEnd(&stream) }
        return data.withUnsafeBytes { bytes in
            guard let count = UInt32(exactly: bytes.count) else { return nil }
            // zlib's input pointer is not const, but zlib does not write to it.
            stream.next_in = UnsafeMutablePointer(mutating: bytes.bindMemory(to: UInt8.self).baseAddress)
            stream.avail_in = count
            var output = Data()
            var room = [UInt8](repeating: 0, count: 64 * 1024)
            while true {
                let (code, written) = room.withUnsafeMutableBufferPointer { room in
                    stream.next_out = room.baseAddress
                    stream.avail_out = UInt32(room.count)
                    let code = inflate(&stream, Z_NO_FLUSH)
                    return (code, room.count - Int(stream.avail_out))
                }
                output += room[..<written]
                guard output.count <= limit else { return nil }
                switch code {
                case Z_OK: continue
                case Z_STREAM_END:
                    if stream.avail_in == 0 { return output }
                    guard windowBits > 15, inflateReset(&stream) == Z_OK else { return nil }
                default: return nil
                }
            }
        }
    }
}
