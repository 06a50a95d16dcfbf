internal import CurlewCore

/// The position of an entry in the index: checksums of the parts of its key and of its variant. Different keys can have
/// equal checksums, so lookups compare the full key as well.
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
