internal import CurlewCore

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Masking keys from the kernel's random numbers, read in batches. A guessable key would not protect proxies (RFC 6455,
/// 10.3).
struct MaskKeys: Sendable {
    private var bits: [UInt32] = []

    /// getentropy(3) returns at most 256 bytes at a time.
    private static let count = 64

    mutating func next() -> WebSocketMaskKey {
        if bits.isEmpty { refill() }
        return WebSocketMaskKey(bits: bits.removeLast())
    }

    private mutating func refill() {
        bits = [UInt32](unsafeUninitializedCapacity: Self.count) { buffer, count in
            let bytes = UnsafeMutableRawBufferPointer(buffer)
            count = getentropy(bytes.baseAddress, bytes.count) == 0 ? buffer.count : 0
        }
        guard bits.isEmpty else { return }
        var random = SystemRandomNumberGenerator()
        bits = [random.next()]
    }
}
