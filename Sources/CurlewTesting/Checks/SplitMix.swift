internal import CurlewLocks

/// SplitMix64: a random number generator that yields an identical sequence for identical seeds.
package struct SplitMix: RandomNumberGenerator {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// Pseudo-random bytes that depend only on the seed.
enum PatternBlock {
    static let length = 65_521

    private static let cache = Lock<[UInt64: [UInt8]]>([:])

    static func block(seed: UInt64) -> [UInt8] {
        cache.withLock { cache in
            if let known = cache[seed] { return known }
            let made = make(seed: seed)
            // Bounds the memory of the cache: a test that uses more seeds recomputes blocks.
            if cache.count >= 8 { cache.removeAll() }
            cache[seed] = made
            return made
        }
    }

    private static func make(seed: UInt64) -> [UInt8] {
        var random = SplitMix(seed: seed)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(length + 8)
        while bytes.count < length {
            withUnsafeBytes(of: random.next().littleEndian) { bytes.append(contentsOf: $0) }
        }
        return Array(bytes[..<length])
    }
}
