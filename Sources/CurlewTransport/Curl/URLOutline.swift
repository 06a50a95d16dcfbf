internal import CurlewCore
internal import Glibc

/// The positions of path and query in a URL whose parts libcurl takes as they are written.
///
/// There is none for a URL that libcurl would change: with escapes (libcurl writes the escapes of a part in lower
/// case), dot segments, a fragment, credentials, an address in brackets, an empty path or query.
struct URLOutline: Equatable, Sendable {
    /// The number of bytes of scheme, host and port as written.
    let origin: Int
    /// The number of bytes up to the end of the path.
    let path: Int
    /// The number of bytes of the URL.
    let count: Int

    var hasQuery: Bool { path < count }

    /// `nil` if libcurl would change the URL. `bytes` must have no `%`, `#` or `[`, and no credentials.
    init?(_ bytes: UnsafeBufferPointer<UInt8>, origin: Int) {
        guard let base = bytes.baseAddress, origin < bytes.count, base[origin] == UInt8(ascii: "/") else { return nil }
        let rest = bytes.count - origin
        let question = memchr(base + origin, 0x3F, rest)
        let path = question.map { base.distance(to: $0.assumingMemoryBound(to: UInt8.self)) } ?? bytes.count
        guard path + 1 != bytes.count || question == nil else { return nil }
        var dots: UInt8 = 0
        for index in origin..<(path - 1) { dots |= base[index] == 0x2F && base[index + 1] == 0x2E ? 1 : 0 }
        guard dots == 0 else { return nil }
        (self.origin, self.path, count) = (origin, path, bytes.count)
    }
}
