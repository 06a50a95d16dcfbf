internal import CurlewCore

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Masking keys from the kernel: one that could be guessed would protect no proxy (RFC 6455, 10.3). A call to the kernel for each
/// would cost a fifth of a small message.
struct MaskKeys: Sendable {
    private var bits: [UInt32] = []

    /// getentropy(3) gives no more than 256 bytes at a time.
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
