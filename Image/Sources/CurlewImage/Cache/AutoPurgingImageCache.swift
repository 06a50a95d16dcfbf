internal import CurlewLocks

/// Pictures in memory, the least recently used ones purged when they cost too much together.
///
/// The limit holds at every moment: an addition that would exceed it first purges until all
/// of it, the new picture included, is within `preferredMemoryUsageAfterPurge`. A picture above the limit is not kept. All of it is purged
/// when the system runs short of memory (Linux's pressure stall information). A lock, not an actor: a hit
/// costs less than a hop.
public final class AutoPurgingImageCache: ImageRequestCache {
    /// Above so many bytes pictures are dropped.
    public let memoryCapacity: Int
    /// Then they are dropped until no more than so many bytes are left.
    public let preferredMemoryUsageAfterPurge: Int

    private let images = Lock(LRU<String, Image>())
    private let pressure: MemoryPressure?

    /// Bytes of pixels. The second is capped by the first.
    public convenience init(
        memoryCapacity: Int = 100 * 1024 * 1024,
        preferredMemoryUsageAfterPurge: Int = 60 * 1024 * 1024
    ) {
        self.init(
            memoryCapacity: memoryCapacity,
            preferredMemoryUsageAfterPurge: preferredMemoryUsageAfterPurge,
            pressure: MemoryPressure()
        )
    }

    init(memoryCapacity: Int, preferredMemoryUsageAfterPurge: Int, pressure: MemoryPressure?) {
        self.memoryCapacity = max(0, memoryCapacity)
        self.preferredMemoryUsageAfterPurge = min(max(0, preferredMemoryUsageAfterPurge), max(0, memoryCapacity))
        self.pressure = pressure
        pressure?.start { [images] in images.withLock { $0.removeAll() } }
    }

    deinit { pressure?.stop() }

    /// Bytes of all pictures that are kept.
    public var memoryUsage: Int { images.withLock { $0.totalCost } }
    /// How many pictures there are.
    public var count: Int { images.withLock { $0.count } }

    public func add(_ image: Image, withIdentifier identifier: String) {
        let cost = image.byteCount
        images.withLock { images in
            images.remove(identifier)
            guard cost <= memoryCapacity else { return }
            if images.totalCost + cost > memoryCapacity {
                let room = max(0, preferredMemoryUsageAfterPurge - cost)
                while images.totalCost > room { images.removeOldest() }
            }
            images.insert(image, for: identifier, cost: cost)
        }
    }

    public func image(withIdentifier identifier: String) -> Image? {
        images.withLock { $0.value(for: identifier) }
    }

    @discardableResult
    public func removeImage(withIdentifier identifier: String) -> Bool {
        images.withLock { $0.remove(identifier) != nil }
    }

    /// Removes a picture with all its filtered versions.
    @discardableResult
    public func removeImages(withIdentifierPrefix prefix: String) -> Bool {
        images.withLock { images in
            let keys = images.keys.filter { $0.hasPrefix(prefix) }
            for key in keys { images.remove(key) }
            return !keys.isEmpty
        }
    }

    @discardableResult
    public func removeAllImages() -> Bool {
        images.withLock { images in
            defer { images.removeAll() }
            return images.count > 0
        }
    }
}
