internal import CurlewCore
internal import Glibc

/// Where path and query begin in a URL whose parts libcurl takes as they are written.
///
/// Not so where it would change something: with escapes (libcurl writes those of a part that it is given in
/// lower case), dot segments, a fragment, credentials, an address in brackets, an empty path or query.
struct URLOutline: Equatable, Sendable {
    /// Bytes of scheme, host and port as written.
    let origin: Int
    /// Bytes up to the end of the path.
    let path: Int
    /// Bytes of it all.
    let count: Int

    var hasQuery: Bool { path < count }

    /// `bytes` have no `%`, `#` or `[`.
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
