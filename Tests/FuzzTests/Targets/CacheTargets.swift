#if !FUZZING
@testable internal import CurlewCore
@testable internal import CurlewRedis
internal import Foundation
#else
import Foundation
#endif

extension FuzzTarget {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)

    static let caches = [
        FuzzTarget("cache-entry") { input throws(BrokenProperty) in
            guard let entry = CacheEntry(encoded: input.data) else { return }
            try checkEntry(entry, ofSize: input.bytes.count)
            let encoded = entry.encoded
            try require(CacheEntry(encoded: encoded), equals: entry, "an entry is read as it was written")
            try require(CacheEntry(encoded: encoded + [0]) == nil, "nothing follows an entry")
            for length in stride(from: 0, to: encoded.count, by: max(1, encoded.count / 100)) {
                try require(CacheEntry(encoded: encoded.prefix(length)) == nil, "a part of an entry is none")
            }
        },
        FuzzTarget("cache-record") { input throws(BrokenProperty) in
            // The input gets its right checksum, because a wrong one ends the parsing at once.
            let data = Data([1]) + RedisRecord.bytes(StoreChecksum.of(input.data), count: 8) + input.data
            guard let record = RedisRecord(data) else { return }
            try require(record.size >= 0, "a body has a length")
            try require(record.entry.encoded.count > 0, "a record has an entry")
            if record.isInline {
                try require(Int64(record.rest.count), equals: record.size, "a small body is there as a whole")
            } else {
                try require(record.rest.count, equals: record.chunkCount * 8, "each chunk has its checksum")
                try require(record.check(ofChunk: record.chunkCount) == nil, "there are no others")
            }
            let encoded = record.encoded
            try require(RedisRecord(encoded)?.entry, equals: record.entry, "a record is read as it was written")
            var damaged = encoded
            let place = Int(StoreChecksum.of(encoded) % UInt64(encoded.count))
            damaged[place] ^= UInt8(truncatingIfNeeded: 1 << (place % 8))
            try require(RedisRecord(damaged) == nil, "a changed byte is found")
            try require(RedisRecord(encoded.prefix(place)) == nil, "a part of a record is none")
        },
    ]

    /// Uses an entry as the cache uses one that it has found.
    private static func checkEntry(_ entry: CacheEntry, ofSize size: Int) throws(BrokenProperty) {
        let head = entry.response.head
        try require((100...999).contains(head.status), "a status has three digits")
        try require(head.headers.count <= size, "there are no more fields than bytes")
        let texts = head.headers.flatMap { [$0.name, $0.value] } + [head.reason]
        try require(texts.allSatisfy(\.isHTTPFieldValue), "no field begins another")
        let validators = Validators(head.headers)
        try require(validators.conditions.allSatisfy(\.isValid), "a condition can be sent")
        try require(entry.lifetime.usableUntil >= entry.lifetime.freshUntil, "what is fresh is usable")
        for mode in [CacheMode.private, .shared] {
            let freshness = Freshness(entry.response, mode: mode)
            try require(freshness.age(at: now) >= 0, "nothing is younger than now")
            let lifetime = freshness.cacheLifetime(canBeValidated: validators.areUsable)
            try require(lifetime.usableUntil >= lifetime.freshUntil, "what is fresh is usable, computed anew")
        }
        guard let url = URL(string: "https://example.org/a") else { return }
        let stored = StoredEntry(entry: entry, body: DataCacheBody(Data("0123456789".utf8)))
        for policy in [CachePolicy.useProtocol, .preferStored] {
            let request = CacheRequest(url: url, headers: ["Range": "bytes=2-5"], policy: policy)
            _ = Variants.select([stored], for: request) { $0 }
            _ = CacheDecision(for: request, found: stored, mode: .private, now: now)
        }
        _ = Revalidation.updated(entry.response, with: head, requestTime: now, responseTime: now, mode: .private)
    }
}
