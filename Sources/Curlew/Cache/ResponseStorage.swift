internal import CurlewCore
internal import Foundation

/// Stores one response while it goes to its reader. It appears in the store when it is complete.
///
/// A small body is collected and written at the end. A large one is written piece by piece, by a task of its own, which
/// `finish` and `drop` wait for; where the store cannot keep up the network is paused.
// SAFETY: as for `CacheSink`: one owner at a time. What the writing task shares is in `StorageBacklog`.
final class ResponseStorage: @unchecked Sendable {
    private let cache: ResponseCache
    private let request: TransferRequest
    private let asked: CacheRequest
    private let requestTime: Date
    /// Told once whether others may wait for the response.
    private let flight: CacheFlight?

    var control: (any TransferControl)?
    private(set) var isStoring = false
    private var entry: CacheEntry?
    private var expectedSize: Int64?
    private var buffer = Data()
    private var backlog: StorageBacklog?

    /// So much is collected before a body counts as large.
    private static let pieceSize = 256 * 1024
    /// A body that is shown before it is stored has to lie in memory.
    private static let reviewLimit = 8 * 1024 * 1024

    init(
        _ cache: ResponseCache,
        _ request: TransferRequest,
        _ asked: CacheRequest,
        flight: CacheFlight?,
        requestTime: Date
    ) {
        self.cache = cache
        self.request = request
        self.asked = asked
        self.flight = flight
        self.requestTime = requestTime
    }

    // MARK: On the network's thread

    func begin(_ head: ResponseHead) {
        guard Storability.isStorable(head, for: asked, mode: cache.mode) else {
            flight?.end(.notStored)
            return
        }
        let response = StoredResponse(
            head: Storability.stored(head, mode: cache.mode),
            requestTime: requestTime,
            responseTime: cache.clock(),
            isContentDecoded: asked.decodesContent
        )
        let fields = Variants.fields(of: head.headers) ?? []
        let freshness = Freshness(response, mode: cache.mode)
        entry = CacheEntry(
            id: CacheDigest.newIdentifier(),
            key: asked.key,
            variant: Variants.name(of: asked.headers, varyingBy: fields, digest: CacheDigest.name),
            varyingFields: fields,
            response: response,
            lifetime: freshness.cacheLifetime(canBeValidated: Validators(head.headers).areUsable)
        )
        // Those who wait could not use it without asking the server themselves.
        if !freshness.isFresh(at: response.responseTime) { flight?.end(.notStored) }
        if head.headers["Content-Encoding"] == nil || !asked.decodesContent {
            expectedSize = head.headers["Content-Length"].flatMap { Int64($0) }
        }
        isStoring = true
    }

    /// Whether the store has more to write than is kept for it.
    var isFull: Bool { backlog?.isFull ?? false }

    func take(_ bytes: UnsafeRawBufferPointer) {
        if buffer.isEmpty, let expectedSize { buffer.reserveCapacity(Int(min(expectedSize, Int64(Self.pieceSize)))) }
        buffer.append(contentsOf: bytes)
        guard buffer.count >= Self.pieceSize else { return }
        if let wishes = request.options.cache, wishes.review != nil {
            guard buffer.count > Self.reviewLimit else { return }
            if wishes.mustReview { return giveUp() }
        }
        guard let entry else { return }
        if backlog == nil {
            backlog = StorageBacklog(writing: entry, ofSize: expectedSize, to: cache.store, control: control)
        }
        if backlog?.append(buffer) == false { giveUp() } else { buffer = Data() }
    }

    private func giveUp() {
        isStoring = false
        buffer = Data()
        flight?.end(.notStored)
    }

    // MARK: In the cache's task

    /// The response is complete. Whether it is stored.
    func finish() async -> Bool {
        guard isStoring, var entry else {
            await drop()
            return false
        }
        let isStored: Bool
        if let backlog {
            if !buffer.isEmpty { _ = backlog.append(buffer) }
            isStored = await backlog.finish(complete: true)
        } else {
            if let review = request.options.cache?.review {
                guard let reviewed = await review(request, entry.response.head, buffer) else { return false }
                entry.response.head = reviewed.head
                buffer = reviewed.body
            }
            isStored = await write(entry)
        }
        if isStored { cache.countStore() }
        return isStored
    }

    private func write(_ entry: CacheEntry) async -> Bool {
        guard let writer = await cache.store.writer(for: entry, expectedSize: Int64(buffer.count)) else { return false }
        if !buffer.isEmpty, await !writer.write(buffer) {
            await writer.drop()
            return false
        }
        return await writer.commit()
    }

    /// The response was not complete, or its reader has left.
    func drop() async {
        isStoring = false
        _ = await backlog?.finish(complete: false)
    }
}
