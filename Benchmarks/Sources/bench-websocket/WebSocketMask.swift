/// Masking (RFC 6455, 5.3): the byte at position i is combined with byte i modulo 4 of the key.
package enum WebSocketMask {
    /// Masks `source` into `target`, which must have room for it. Both may be the same memory.
    ///
    /// `position` is the number of payload bytes before `source`.
    package static func apply(
        _ key: WebSocketMaskKey, from source: UnsafeRawBufferPointer, to target: UnsafeMutableRawPointer,
        position: Int = 0
    ) {
        guard let base = source.baseAddress else { return }
        let key = key.rotated(by: position)
        let word = UInt64(key.word) << 32 | UInt64(key.word)
        let count = source.count
        var index = 0
        while index &+ 8 <= count {
            target.storeBytes(
                of: base.loadUnaligned(fromByteOffset: index, as: UInt64.self) ^ word, toByteOffset: index,
                as: UInt64.self)
            index &+= 8
        }
        while index < count {
            let masked = base.load(fromByteOffset: index, as: UInt8.self) ^ key.byte(index)
            target.storeBytes(of: masked, toByteOffset: index, as: UInt8.self)
            index &+= 1
        }
    }

    /// Masks bytes in place.
    package static func apply(_ key: WebSocketMaskKey, to bytes: UnsafeMutableRawBufferPointer, position: Int = 0) {
        guard let base = bytes.baseAddress else { return }
        apply(key, from: UnsafeRawBufferPointer(bytes), to: base, position: position)
    }
}

/// The four bytes of a masking key.
package struct WebSocketMaskKey: Hashable, Sendable {
    /// The bytes in memory order, so that they can be combined with a whole word of the payload.
    let word: UInt32

    /// Creates a key from any 32 bits; those of a real key must be random.
    package init(bits: UInt32) { word = bits }

    package init(_ bytes: (UInt8, UInt8, UInt8, UInt8)) {
        word = UInt32(
            littleEndian: UInt32(bytes.0) | UInt32(bytes.1) << 8 | UInt32(bytes.2) << 16 | UInt32(bytes.3) << 24)
    }

    package func byte(_ position: Int) -> UInt8 {
        UInt8(truncatingIfNeeded: word.littleEndian >> UInt32((position & 3) * 8))
    }

    /// Returns the key for the rest of a payload after `position` bytes.
    func rotated(by position: Int) -> Self {
        let shift = UInt32((position & 3) * 8)
        guard shift > 0 else { return self }
        let bits = word.littleEndian
        return Self(bits: UInt32(littleEndian: bits >> shift | bits << (32 - shift)))
    }
}
