internal import CurlewLocks

/// The latest invalidations. A response that was under way during an invalidation is not stored, and no later request
/// waits for it.
///
/// A request reads the mark when it is sent, which takes no lock before the first invalidation.
final class InvalidationLog: Sendable {
    enum Extent: Sendable {
        /// A URL in the form of `CacheKey.url`.
        case url(String)
        /// An origin in the form of `CacheKey.origin`.
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

        /// Whether an invalidation since `mark` covers the URL. True if that is too long ago to be known.
        func concern(_ url: String, since mark: UInt64) -> Bool {
            guard total - mark <= UInt64(InvalidationLog.length) else { return true }
            return (mark..<total).contains { recent[Int($0 % UInt64(InvalidationLog.length))].covers(url) }
        }
    }

    private let state = MostlyEmpty(State()) { $0.total == 0 }

    /// The number of invalidations that are remembered.
    private static let length = 64

    /// The number of invalidations so far.
    var mark: UInt64 { state.isEmpty ? 0 : state.withLock { $0.total } }

    /// Records invalidations. Call it before responses are removed from the store, so that a response that is committed
    /// after the removal finds them.
    func note(_ extents: [Extent]) {
        state.withLock { state in
            for extent in extents { state.append(extent) }
        }
    }

    /// Whether responses of a URL have been invalidated since a mark.
    func concerns(_ url: String, since mark: UInt64) -> Bool {
        guard !state.isEmpty else { return false }
        return state.withLock { $0.concern(url, since: mark) }
    }
}
