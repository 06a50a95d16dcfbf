package import CurlewCore
package import Foundation

/// An entry whose body can be verified without other data: its first line has its key, size and tag, and all bytes
/// after that line follow from the key and the size.
package struct Sample {
    package let key: Int
    package let size: Int
    package let tag: String

    package init(key: Int, size: Int, tag: String) {
        self.key = key
        self.size = size
        self.tag = tag
    }

    package var entry: CacheEntry {
        let now = Date()
        return CacheEntry(
            id: UUID().uuidString.replacingOccurrences(of: "-", with: "").lowercased(),
            key: CacheKey(url: "http://sample.test/\(key)"),
            response: StoredResponse(
                head: ResponseHead(status: 200, headers: ["X-Tag": tag]), requestTime: now, responseTime: now),
            lifetime: CacheLifetime(freshUntil: now + 3600, usableUntil: now + 3600, canBeValidated: true)
        )
    }

    package var body: Data {
        var body = Data("\(key) \(size) \(tag)\n".utf8)
        let seed = UInt8(truncatingIfNeeded: key &+ size)
        while body.count < size {
            body.append(contentsOf: repeatElement(seed &+ UInt8(body.count / 997 % 256), count: 997))
        }
        return body
    }

    package func store(in store: any CacheStore) async -> Bool {
        let body = body
        guard let writer = await store.writer(for: entry, expectedSize: Int64(body.count)) else { return false }
        var rest = body[...]
        while !rest.isEmpty {
            let chunk = rest.prefix(16_384)
            rest = rest.dropFirst(chunk.count)
            guard await writer.write(Data(chunk)) else {
                await writer.drop()
                return false
            }
        }
        return await writer.commit()
    }

    /// Whether a stored body is a whole body with this key and tag.
    package static func isRight(_ body: Data, key: Int, tag: String) -> Bool {
        guard let end = body.firstIndex(of: 10) else { return false }
        let words = String(decoding: body[..<end], as: UTF8.self).split(separator: " ")
        guard words.count == 3, words[0] == "\(key)", let size = Int(words[1]), words[2] == tag else { return false }
        return body == Sample(key: key, size: size, tag: tag).body
    }
}
