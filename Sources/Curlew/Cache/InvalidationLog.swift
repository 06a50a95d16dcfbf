internal import CurlewLocks

/// What was made out of date lately: a response that was under way then is not stored, and no later request waits for it.
///
/// A request notes the mark when it is sent, without a lock where nothing was ever invalidated. The rest is asked where there is something to store.
final class InvalidationLog: Sendable {
    enum Extent: Sendable {
        /// As `CacheKey.url` has it.
        case url(String)
        /// As `CacheKey.origin` has it.
        case origin(String)
        case everything

        func covers(_ url: String) -> Bool {
            switch self {
            case .url(let other): url == other
            case .origin(let origin): url.hasPrefix(origin)
            case .everything: true
            }
        }
    }

    private struct State: Sendable {
        var recent: [Extent] = []
        var total: UInt64 = 0

        mutating func append(_ extent: Extent) {
            if recent.count < InvalidationLog.length {
                recent.append(extent)
            } else {
                recent[Int(total % UInt64(recent.count))] = extent
            }
            total += 1
        }

        /// What is too long ago to be told counts as concerned.
        func concern(_ url: String, since mark: UInt64) -> Bool {
            guard total - mark <= UInt64(InvalidationLog.length) else { return true }
            return (mark..<total).contains { recent[Int($0 % UInt64(InvalidationLog.length))].covers(url) }
        }
    }

    private let state = MostlyEmpty(State()) { $0.total == 0 }

    /// How many are remembered.
    private static let length = 64

    /// What a request notes when it is sent.
    var mark: UInt64 { state.isEmpty ? 0 : state.withLock { $0.total } }

    /// To be called before anything is removed from the store: what is committed afterwards finds it here.
    func note(_ extents: [Extent]) {
        state.withLock { state in
            for extent in extents { state.append(extent) }
        }
    }

    /// Whether what is stored for a URL was made out of date since a mark.
    func concerns(_ url: String, since mark: UInt64) -> Bool {
        guard !state.isEmpty else { return false }
        return state.withLock { $0.concern(url, since: mark) }
    }
}
