package import CurlewCore
internal import CurlewTesting
package import Foundation

/// Makes entries with the date of its clock: `entry("a", variant: "v")`.
package struct EntryMaker: Sendable {
    private let now: @Sendable () -> Date

    package init(now: @escaping @Sendable () -> Date) { self.now = now }

    /// Makes an entry whose key is the URL of `name`.
    package func callAsFunction(
        _ name: String,
        origin: String = "http://store.test",
        partition: String = "",
        variant: String = "",
        headers: HTTPHeaders = ["Content-Type": "text/plain"],
        usable: TimeInterval = 3600,
        canBeValidated: Bool = false,
        now given: Date? = nil
    ) -> CacheEntry {
        let now = given ?? now()
        return CacheEntry(
            id: UUID().uuidString.replacingOccurrences(of: "-", with: "").lowercased(),
            key: CacheKey(url: origin + "/" + name, partition: partition),
            variant: variant,
            varyingFields: variant.isEmpty ? [] : ["accept"],
            response: StoredResponse(
                head: ResponseHead(status: 200, headers: headers), requestTime: now, responseTime: now),
            lifetime: CacheLifetime(freshUntil: now + usable, usableUntil: now + usable, canBeValidated: canBeValidated)
        )
    }
}

/// Returns pseudorandom bytes. They have no period, so a misplaced piece of a body is always detected.
package func bytes(_ count: Int, seed: UInt64 = 1) -> Data {
    var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
    var data = Data(count: count + 8)
    data.withUnsafeMutableBytes { buffer in
        for offset in stride(from: 0, to: count, by: 8) {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            buffer.storeBytes(of: state, toByteOffset: offset, as: UInt64.self)
        }
    }
    return data.prefix(count)
}

extension CacheStore {
    /// Stores an entry and writes its body in chunks. Returns whether the entry was committed.
    @discardableResult
    package func put(_ entry: CacheEntry, _ body: Data, chunk: Int = 16_384) async -> Bool {
        guard let writer = await writer(for: entry, expectedSize: Int64(body.count)) else { return false }
        for start in stride(from: 0, to: body.count, by: chunk) {
            guard await writer.write(Data(body[start..<min(start + chunk, body.count)])) else {
                await writer.drop()
                return false
            }
        }
        return await writer.commit()
    }

    /// Returns the stored body for a key without variants, or `nil` for a miss.
    package func body(_ key: CacheKey) async throws(CurlewError) -> Data? {
        guard let found = await entries(for: key).first else { return nil }
        return try await found.body.whole()
    }
}

extension CacheBody {
    /// Reads the body or a range of it. `nil` if the body is gone.
    package func whole(_ range: Range<Int64>? = nil) async throws(CurlewError) -> Data? {
        guard let reader = await reader(of: range ?? 0..<size) else { return nil }
        var data = Data()
        while let chunk = try await reader.next() { data.append(chunk) }
        return data
    }
}

/// Waits until `condition` is true, and returns whether it became true in time.
package func eventually(_ condition: () async throws -> Bool) async throws -> Bool {
    let deadline = ContinuousClock.now + Duration.seconds(40).asTestBound
    while try await !condition() {
        if ContinuousClock.now > deadline { return false }
        try await Task.sleep(for: .milliseconds(10))
    }
    return true
}
