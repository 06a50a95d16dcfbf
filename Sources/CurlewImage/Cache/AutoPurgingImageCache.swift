internal import CurlewLocks

/// A cache of images in memory that removes the least recently used ones when it is full.
///
/// The limit holds at every moment: an addition that would exceed it first removes images until all of them, including
/// the new one, fit `preferredMemoryUsageAfterPurge`. An image larger than the limit is not stored. All images are
/// removed when the system runs short of memory (Linux's pressure stall information).
public final class AutoPurgingImageCache: ImageRequestCache {
    /// The maximum number of bytes of all images.
    public let memoryCapacity: Int
    /// The number of bytes that a purge leaves at most.
    public let preferredMemoryUsageAfterPurge: Int

    private let images = Lock(LRU<String, Image>())
    private let pressure: MemoryPressure?

    /// Creates a cache with these capacities, in bytes of pixels. The second is at most the first.
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
    /// The number of cached images.
    public var count: Int { images.withLock { $0.count } }

    /// Stores an image, replacing the one with this identifier.
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

    /// Returns an image. This counts as a use of it.
    public func image(withIdentifier identifier: String) -> Image? {
        images.withLock { $0.value(for: identifier) }
    }

    /// Removes an image. Returns whether there was one.
    @discardableResult
    public func removeImage(withIdentifier identifier: String) -> Bool {
        images.withLock { $0.remove(identifier) != nil }
    }

    /// Removes all images whose identifiers begin with `prefix`: an image and its filtered versions. Returns whether
    /// there were any.
    @discardableResult
    public func removeImages(withIdentifierPrefix prefix: String) -> Bool {
        images.withLock { images in
            let keys = images.keys.filter { $0.hasPrefix(prefix) }
            for key in keys { images.remove(key) }
            return !keys.isEmpty
        }
    }

    /// Removes all images. Returns whether there were any.
    @discardableResult
    public func removeAllImages() -> Bool {
        images.withLock { images in
            defer { images.removeAll() }
            return images.count > 0
        }
    }
}
