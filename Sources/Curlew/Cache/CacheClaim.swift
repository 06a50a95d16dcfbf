internal import CurlewCore
internal import CurlewLocks

/// This process's claim to send the request for a key, if several processes share a store. The store is told once that
/// the claim is over.
final class CacheClaim: Sendable {
    private struct State: Sendable {
        var isOver = false
        var telling: Task<Void, Never>?
    }

    private let store: any CacheStore
    private let key: CacheKey
    private let state = Lock(State())

    init(of key: CacheKey, from store: any CacheStore) { (self.key, self.store) = (key, store) }

    /// Ends the claim because nothing will be stored: other processes need not wait until the response is complete.
    /// Does not wait for the store, because the caller may be the network's thread.
    func giveUp() {
        state.withLock { [store, key] state in
            guard !state.isOver else { return }
            state.isOver = true
            state.telling = BodyTask.start { await store.fetchEnded(of: key, stored: false) }
        }
    }

    /// Ends the claim with the request. Returns when the store has been told.
    func end(stored: Bool) async {
        let (wasOver, telling) = state.withLock { state in
            defer { state.isOver = true }
            return (state.isOver, state.telling)
        }
        if wasOver { await telling?.value } else { await store.fetchEnded(of: key, stored: stored) }
    }
}
