internal import CurlewCore

/// Where an entry stands in the index: checksums of its key's parts and its variant. Two keys may have the same ones, so what
/// is found there is compared with the key that is looked for.
struct IndexPlace: Sendable, Hashable {
    let origin: Int64
    let url: Int64
    let key: Int64
    let variant: Int64

    init(_ key: CacheKey, variant: String = "") {
        origin = Self.origin(key.origin)
        url = Self.url(key.url)
        self.key = Self.key(key)
        self.variant = Self.variant(variant)
    }

    static func key(_ key: CacheKey) -> Int64 { Int64(bitPattern: StoreChecksum.of(key.text)) }

    static func variant(_ variant: String) -> Int64 { Int64(bitPattern: StoreChecksum.of(variant)) }

    static func origin(_ origin: String) -> Int64 { Int64(bitPattern: StoreChecksum.of(origin)) }

    static func url(_ url: String) -> Int64 { Int64(bitPattern: StoreChecksum.of(url)) }
}
