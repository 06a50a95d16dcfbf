internal import CurlewCore
internal import Foundation
internal import Glibc

/// Stores one response while its reader receives it. The store has it once it is complete.
///
/// A small body, and every body for a store in memory, is collected and written at the end. A large one is written
/// piece by piece by another task, which `finish` and `drop` wait for. The network is paused if the store cannot keep
/// up.
// SAFETY: as for `CacheSink`: one owner at a time. The state that the writing task shares is in `StorageBacklog`.
final class ResponseStorage: @unchecked Sendable {
    private let cache: ResponseCache
    private let request: TransferRequest
    private let cacheRequest: CacheRequest
    private let entry: CacheEntry
    private let expectedSize: Int64?
    /// The number of invalidations when the request began (`InvalidationLog`).
    private let mark: UInt64
    /// The fetch that the request leads. It is ended early if others need not wait for the response.
    private let fetch: SharedFetch?
    private let fetches: SharedFetches
    private let control: (any TransferControl)?

    private(set) var isStoring = true
    private var buffer = Data()
    /// Replaces the buffer for a large body that stays in memory.
    private var memory: BodyMemory?
    private var backlog: StorageBacklog?
    /// Cuts the bytes that arrive after `backlog` was created.
    private lazy var cutter = PieceCutter()

    /// A body of this size counts as large.
    private static let pieceSize = 256 * 1024
    /// The maximum size of a body that is shown to the handler or to monitors before it is stored, because it has to be
    /// in memory.
    private static let reviewLimit = 8 * 1024 * 1024

    /// Begins to store a response, which must be storable.
    init(
        _ head: ResponseHead,
        of request: TransferRequest,
        _ cacheRequest: CacheRequest,
        over context: CacheContext,
        requestTime: Date,
        mark: UInt64,
        fetch: SharedFetch?,
        control: (any TransferControl)?
    ) {
        cache = context.cache
        fetches = context.fetches
        self.request = request
        self.cacheRequest = cacheRequest
        self.mark = mark
        self.fetch = fetch
        self.control = control
        let response = StoredResponse(
            head: Storability.stored(head, mode: cache.mode),
            requestTime: requestTime,
            responseTime: cache.clock(),
            isContentDecoded: cacheRequest.decodesContent
        )
        let fields = Variants.fields(of: head.headers) ?? []
        let freshness = Freshness(response, mode: cache.mode)
        entry = CacheEntry(
            id: CacheDigest.newIdentifier(),
            key: cacheRequest.key,
            variant: Variants.name(of: cacheRequest.headers, varyingBy: fields, digest: CacheDigest.name),
            varyingFields: fields,
            response: response,
            lifetime: freshness.cacheLifetime(canBeValidated: Validators(head.headers).areUsable)
        )
        let isSizeKnown = head.headers["Content-Encoding"] == nil || !cacheRequest.decodesContent
        let size = isSizeKnown ? head.headers["Content-Length"].flatMap { Int64($0) } : nil
        expectedSize = size.flatMap { $0 < 0 ? nil : $0 }
        // A stale response is of no use to waiting requests: they would have to validate it.
        if !freshness.isFresh(at: response.responseTime) { endFetch() }
    }

    // MARK: On the network's thread

    /// Whether the store has more to write than the backlog may hold.
    var isFull: Bool { backlog?.isFull ?? false }

    func take(_ bytes: UnsafeRawBufferPointer) {
        if let fetch { fetches.bytesArrived(of: fetch, for: cacheRequest) }
        if let maximum = cache.maximumSizeInMemory { collect(bytes, maximum) } else { cut(bytes) }
    }

    /// Collects bytes for a store that keeps them in memory. They are copied only here.
    private func collect(_ bytes: UnsafeRawBufferPointer, _ maximum: Int) {
        let collected = memory?.count ?? buffer.count
        guard bytes.count <= maximum - collected, Int64(maximum) >= expectedSize ?? 0 else { return giveUp() }
        if collected == 0, let expectedSize {
            memory = BodyMemory(ofSize: expectedSize)
            if memory == nil { buffer.reserveCapacity(Int(expectedSize)) }
        }
        if let memory {
            // A body that is longer than announced is not a complete response.
            guard memory.append(bytes) else { return giveUp() }
        } else {
            buffer.append(contentsOf: bytes)
        }
        if collected + bytes.count > Self.reviewLimit, mustReview { giveUp() }
    }

    private func cut(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes
        while isStoring, !rest.isEmpty {
            let taken: Int
            if let backlog {
                guard let (count, piece) = cutter.take(rest) else { return giveUp() }
                taken = count
                if let piece, !backlog.append(piece) { giveUp() }
            } else {
                taken = fill(with: rest)
                if buffer.count >= Self.pieceSize { beginBacklog() }
            }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(taken))
        }
    }

    /// Adds bytes to the buffer up to the size of a piece, which a store can write as it is, and returns their number.
    /// A body to be reviewed grows beyond that size.
    private func fill(with bytes: UnsafeRawBufferPointer) -> Int {
        let room = Self.pieceSize - buffer.count
        let part = UnsafeRawBufferPointer(rebasing: bytes.prefix(room > 0 ? room : bytes.count))
        if buffer.isEmpty, let expectedSize { buffer.reserveCapacity(Int(min(expectedSize, Int64(Self.pieceSize)))) }
        buffer.append(contentsOf: part)
        return part.count
    }

    /// Begins to write a large body while it arrives.
    private func beginBacklog() {
        if request.options.cache?.review != nil {
            guard buffer.count > Self.reviewLimit else { return }
            if mustReview { return giveUp() }
        }
        let backlog = StorageBacklog(writing: entry, ofSize: expectedSize, to: cache.store, control: control)
        self.backlog = backlog
        if backlog.append(buffer) { buffer = Data() } else { giveUp() }
    }

    private var mustReview: Bool {
        request.options.cache.map { $0.review != nil && $0.mustReview } ?? false
    }

    private func giveUp() {
        isStoring = false
        buffer = Data()
        memory = nil
        endFetch()
        fetch?.claim?.giveUp()
    }

    private func endFetch() {
        if let fetch { fetches.end(fetch, for: cacheRequest, .notStored) }
    }

    // MARK: In the cache's task

    /// Stores the complete response. Returns whether it was stored. `budget` has the rest of the total timeout.
    func finish(within budget: TimeoutBudget) async -> Bool {
        guard isStoring, !isOutdated, !isSuperseded else {
            await drop()
            return false
        }
        var entry = entry
        let isStored: Bool
        if let backlog {
            if let rest = cutter.rest() { _ = backlog.append(rest) }
            isStored = await backlog.finish(complete: true)
        } else {
            if let memory { buffer = memory.data() }
            if let review = request.options.cache?.review, buffer.count <= Self.reviewLimit {
                guard let reviewed = await review(request, entry.response.head, buffer, budget) else { return false }
                entry.response.head = reviewed.head
                buffer = reviewed.body
            }
            isStored = await write(entry)
        }
        // An invalidation may have emptied the store before it had this response.
        if isStored, isOutdated {
            await cache.store.remove(entry)
            return false
        }
        if isStored { cache.countStore() }
        return isStored
    }

    /// Whether responses of the URL have been invalidated since the request was sent.
    var isOutdated: Bool { cache.invalidations.concerns(cacheRequest.key.url, since: mark) }

    /// Whether a response that arrived later is stored already. Only a store that answers at once is asked. A time in
    /// the future is ignored: the clock was wrong then.
    var isSuperseded: Bool {
        guard let entries = cache.entriesAtHand(for: cacheRequest.key), !entries.isEmpty else { return false }
        let now = cache.clock()
        return entries.contains { other in
            let time = other.entry.response.responseTime
            return other.entry.variant == entry.variant && time > entry.response.responseTime && time <= now
        }
    }

    private func write(_ entry: CacheEntry) async -> Bool {
        guard let writer = await cache.store.writer(for: entry, expectedSize: Int64(buffer.count)) else { return false }
        if !buffer.isEmpty, await !writer.write(buffer) {
            await writer.drop()
            return false
        }
        return await writer.commit()
    }

    /// Stores nothing, because the response was not complete or its reader has left.
    func drop() async {
        isStoring = false
        _ = await backlog?.finish(complete: false)
    }
}

/// Memory for a large body of known size, which becomes a `Data` without a copy.
///
/// The system maps and clears new memory page by page while the body is written. We therefore ask for huge pages, which
/// the system provides if it has them.
final class BodyMemory {
    private let start: UnsafeMutableRawPointer
    private let capacity: Int
    private(set) var count = 0
    private var isHandedOver = false

    private static let hugePage = 2 << 20

    /// `nil` if the size is too small for huge pages, or if there is no memory.
    init?(ofSize size: Int64) {
        guard size >= Int64(Self.hugePage), let capacity = Int(exactly: size) else { return nil }
        var start: UnsafeMutableRawPointer?
        guard posix_memalign(&start, Self.hugePage, capacity) == 0, let start else { return nil }
        // Only whole huge pages are requested: most of a last partial one would stay unused.
        madvise(start, capacity / Self.hugePage * Self.hugePage, MADV_HUGEPAGE)
        self.start = start
        self.capacity = capacity
    }

    deinit { if !isHandedOver { free(start) } }

    /// Returns `false` if the bytes do not fit.
    func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard !isHandedOver, bytes.count <= capacity - count else { return false }
        guard let source = bytes.baseAddress else { return true }
        memcpy(start + count, source, bytes.count)
        count += bytes.count
        return true
    }

    /// Returns the collected bytes. No bytes can be added afterwards.
    func data() -> Data {
        guard !isHandedOver, count > 0 else { return Data() }
        isHandedOver = true
        return Data(bytesNoCopy: start, count: count, deallocator: .free)
    }
}
