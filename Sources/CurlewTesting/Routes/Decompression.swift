internal import CZlib
internal import Foundation

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
