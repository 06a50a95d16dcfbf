internal import CurlewCore
internal import Foundation

// A 304 and a response to `HEAD` update the stored response, unless the result must not be stored.
extension CacheRun {
    /// Applies a 304, which was withheld from the reader.
    mutating func finish(
        validationOf stored: StoredEntry,
        with outcome: TransferOutcome,
        _ requestTime: Date
    ) async throws(CurlewError) -> TransferOutcome {
        guard !Self.isOfAnotherVersion(outcome.head, than: stored.entry) else {
            await cache.store.remove(stored.entry)
            // The server has to send the version that it means. Waiters of the collapsed request keep waiting.
            if !isInBackground { return try await send(.miss, adding: []) }  // CacheRun+Sending.swift
            await land(.notStored)
            return outcome
        }
        var fresh = stored
        fresh.entry = updated(stored.entry, with: outcome.head, requestTime)
        let stays = mayStay(fresh.entry)
        if stays { await cache.store.update(fresh.entry) } else { await cache.store.remove(stored.entry) }
        await land(stays ? .stored : .notStored)
        guard !isInBackground else {
            cache.count(.revalidated)
            return outcome
        }
        // The response is served even if it is not kept: it answers this request.
        if let served = try await serve(fresh, .whole, .revalidated, news: outcome) { return served }
        return try await send(.miss, adding: [])
    }

    /// Updates the stored response with a response to `HEAD`, or removes it if that is about another version (RFC 9111,
    /// 4.3.5).
    func update(with head: ResponseHead, _ requestTime: Date) async {
        let entries = await cache.store.entries(for: asked.key)
        guard let found = Variants.select(entries, for: asked, digest: CacheDigest.name),
            found.entry.response.head.status == 200
        else { return }
        let entry = found.entry
        guard Revalidation.isSame(entry.response, as: head, bodySize: found.body.size) else {
            await cache.store.remove(entry)
            return
        }
        // This response must not be stored. The stored one stays as it is.
        guard !asked.control.has("no-store"), !asked.hasPrecondition else { return }
        let new = updated(entry, with: head, requestTime)
        if mayStay(new) { await cache.store.update(new) } else { await cache.store.remove(entry) }
    }

    private func updated(_ entry: CacheEntry, with head: ResponseHead, _ requestTime: Date) -> CacheEntry {
        var entry = entry
        entry.response = Revalidation.updated(
            entry.response, with: head, requestTime: requestTime, responseTime: cache.clock(), mode: cache.mode)
        let canBeValidated = Validators(entry.response.head.headers).areUsable
        entry.lifetime = Freshness(entry.response, mode: cache.mode).cacheLifetime(canBeValidated: canBeValidated)
        return entry
    }

    /// Whether an entry with new fields might be stored as a response to this request, and is still the same variant.
    private func mayStay(_ entry: CacheEntry) -> Bool {
        let head = entry.response.head
        return Variants.fields(of: head.headers) == entry.varyingFields
            && Storability.mayStay(head, for: asked, mode: cache.mode)
    }

    /// Whether a 304 names another version than the stored one, by a strong tag (RFC 9111, 4.3.4).
    private static func isOfAnotherVersion(_ head: ResponseHead, than entry: CacheEntry) -> Bool {
        guard let new = Validators(head.headers).entityTag,
            let old = Validators(entry.response.head.headers).entityTag,
            !new.hasPrefix("W/"), !old.hasPrefix("W/")
        else { return false }
        return new != old
    }
}
