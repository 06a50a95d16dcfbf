internal import CurlewLocks

/// Images in memory, the least recently used ones purged when they cost too much together.
///
/// The limit holds at every moment: an addition that would exceed it first purges until all
/// of it, the new image included, is within `preferredMemoryUsageAfterPurge`. An image above the limit is not kept. All of it is purged
/// when the system runs short of memory (Linux's pressure stall information). A lock, not an actor: a hit
/// costs less than a hop.
public final class AutoPurgingImageCache: ImageRequestCache {
    /// The number of bytes above which images are dropped.
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

    /// The bytes of all cached images.
    public var memoryUsage: Int { images.withLock { $0.totalCost } }
    /// How many images there are.
    public var count: Int { images.withLock { $0.count } }

    /// Stores an image, and replaces the one that had its name.
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

    /// Returns an image and counts as a use of it.
    public func image(withIdentifier identifier: String) -> Image? {
        images.withLock { $0.value(for: identifier) }
    }

    /// Removes an image; says whether there was one.
    @discardableResult
    public func removeImage(withIdentifier identifier: String) -> Bool {
        images.withLock { $0.remove(identifier) != nil }
    }

    /// Removes an image with all its filtered versions.
    @discardableResult
    public func removeImages(withIdentifierPrefix prefix: String) -> Bool {
        images.withLock { images in
            let keys = images.keys.filter { $0.hasPrefix(prefix) }
            for key in keys { images.remove(key) }
            return !keys.isEmpty
        }
    }

    /// Removes everything; says whether there was anything.
    @discardableResult
    public func removeAllImages() -> Bool {
        images.withLock { images in
            defer { images.removeAll() }
            return images.count > 0
        }
    }
}
