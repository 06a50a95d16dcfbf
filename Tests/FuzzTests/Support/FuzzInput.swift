#if !FUZZING
internal import CurlewTesting
internal import Foundation
#else
import Foundation
#endif

/// One input of a fuzz target, as bytes, text or lines.
struct FuzzInput {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var text: String { String(decoding: bytes, as: UTF8.self) }

    var data: Data { Data(bytes) }

    /// The lines that are not empty.
    var lines: [String] { bytes.split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) } }

    /// The first line, which may be a parameter of the target, and the bytes after it.
    var headAndRest: (head: String, rest: [UInt8]) {
        guard let end = bytes.firstIndex(of: 0x0A) else { return ("", bytes) }
        return (String(decoding: bytes[..<end], as: UTF8.self), Array(bytes[(end + 1)...]))
    }

    /// Cuts the bytes into chunks in several ways: as one chunk, as single bytes, and at places that follow from the
    /// bytes.
    static func cuts(of bytes: [UInt8]) -> [[ArraySlice<UInt8>]] {
        var random = SplitMix(seed: bytes.reduce(UInt64(bytes.count)) { $0 &* 31 &+ UInt64($1) })
        var ways = [[bytes[...]], bytes.indices.map { bytes[$0...$0] }]
        for longest in [3, 17] {
            var chunks: [ArraySlice<UInt8>] = []
            var start = 0
            while start < bytes.count {
                let end = min(bytes.count, start + Int(random.next() % UInt64(longest + 1)))
                chunks.append(bytes[start..<end])
                start = end
            }
            ways.append(chunks)
        }
        return ways
    }
}
