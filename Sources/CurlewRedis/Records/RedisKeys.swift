internal import CurlewCore
internal import Foundation

/// Builds the names of the keys that a store uses in the server.
///
///     <prefix>k:<key>        a hash: variant → record, of all variants of one key
///     <prefix>u:<url>        a set: the names of these hashes, of all partitions of one URL
///     <prefix>o:<origin>     a set: the names of these sets, of all URLs of one origin
///     <prefix>b:<id>:<n>     a chunk of a body
///     <prefix>l:<key>        the claim of the process that sends the request of a key
struct RedisKeys: Sendable {
    let prefix: String

    func entries(_ key: CacheKey) -> String { prefix + "k:" + Self.digest(key.text) }
    func url(_ url: String) -> String { prefix + "u:" + Self.digest(url) }
    func origin(_ origin: String) -> String { prefix + "o:" + Self.digest(origin) }
    func claim(_ key: CacheKey) -> String { prefix + "l:" + Self.digest(key.text) }
    /// The prefix of the names of all chunks.
    var chunks: String { prefix + "b:" }
    func chunk(_ id: String, _ number: Int) -> String { "\(chunks)\(id):\(number)" }
    func chunks(_ id: String, count: Int) -> [String] { (0..<count).map { chunk(id, $0) } }

    /// The field of a variant in the hash of its key.
    static func field(_ variant: String) -> Data { Data(digest(variant).utf8) }

    /// The pattern that matches every key of the store, for `SCAN`.
    var everything: String {
        prefix.reduce(into: "") { pattern, character in
            if "*?[]\\^".contains(character) { pattern.append("\\") }
            pattern.append(character)
        } + "*"
    }

    // Two checksums make it unlikely that two keys share a name. A lookup compares the entry's own key as well.
    private static func digest(_ text: String) -> String {
        let parts = [StoreChecksum.of(text), StoreChecksum.of(text, seed: 0x63_75_72_6C_65_77)]
        return parts.map { part in
            let digits = String(part, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}
