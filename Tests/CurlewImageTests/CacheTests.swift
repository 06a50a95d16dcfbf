import CurlewTesting
import Foundation
import Testing

@testable import CurlewImage

@Suite("The image cache")
struct CacheTests {
    private static func image(bytes: Int) -> Image {
        Image(size: ImageSize(width: bytes / 4, height: 1), pixels: Array(repeating: 1, count: bytes / 4 * 4))!
    }

    private static func cache(_ capacity: Int, _ preferred: Int) -> AutoPurgingImageCache {
        AutoPurgingImageCache(memoryCapacity: capacity, preferredMemoryUsageAfterPurge: preferred, pressure: nil)
    }

    @Test func `the least recently used pictures go first`() {
        let cache = Self.cache(1000, 600)
        for name in ["a", "b", "c", "d"] { cache.add(Self.image(bytes: 200), withIdentifier: name) }
        _ = cache.image(withIdentifier: "a")
        cache.add(Self.image(bytes: 400), withIdentifier: "e")
        #expect(cache.image(withIdentifier: "a") != nil, "it was used last")
        #expect(cache.image(withIdentifier: "b") == nil && cache.image(withIdentifier: "c") == nil)
        #expect(cache.image(withIdentifier: "e") != nil)
        #expect(cache.memoryUsage <= 1000)
    }

    @Test func `a picture above the limit is not kept, and replaces its former self by nothing`() {
        let cache = Self.cache(100, 50)
        cache.add(Self.image(bytes: 40), withIdentifier: "a")
        cache.add(Self.image(bytes: 400), withIdentifier: "a")
        #expect(cache.count == 0 && cache.memoryUsage == 0)
    }

    @Test func `the same name replaces, a prefix removes`() {
        let cache = Self.cache(1000, 600)
        cache.add(Self.image(bytes: 40), withIdentifier: "u")
        cache.add(Self.image(bytes: 80), withIdentifier: "u")
        cache.add(Self.image(bytes: 80), withIdentifier: "u-circle")
        cache.add(Self.image(bytes: 80), withIdentifier: "v")
        #expect(cache.memoryUsage == 240 && cache.count == 3)
        #expect(cache.removeImages(withIdentifierPrefix: "u"))
        #expect(cache.count == 1)
        #expect(cache.removeImage(withIdentifier: "v") && !cache.removeImage(withIdentifier: "v"))
        #expect(!cache.removeAllImages())
    }

    @Test func `the limit holds through 100 000 random operations`() {
        var random = SplitMix(seed: 42)
        let cache = Self.cache(50_000, 30_000)
        var highest = 0
        for _ in 0..<100_000 {
            let name = "\(Int.random(in: 0..<300, using: &random))"
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5: cache.add(Self.image(bytes: Int.random(in: 4..<2000, using: &random)), withIdentifier: name)
            case 5..<9: _ = cache.image(withIdentifier: name)
            default: cache.removeImage(withIdentifier: name)
            }
            highest = max(highest, cache.memoryUsage)
        }
        #expect(highest <= 50_000 && highest > 30_000)
        cache.removeAllImages()
        #expect(cache.memoryUsage == 0)
    }

    @Test func `concurrent use keeps the books right`() async {
        let cache = Self.cache(10_000, 5_000)
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    for step in 0..<500 {
                        cache.add(Self.image(bytes: 100), withIdentifier: "\((worker * 31 + step) % 120)")
                        _ = cache.image(withIdentifier: "\(step % 120)")
                    }
                }
            }
        }
        #expect(cache.memoryUsage == cache.count * 100 && cache.memoryUsage <= 10_000)
    }

    @Test func `a system without pressure information does without`() {
        #expect(MemoryPressure(path: "/nonexistent/pressure").start {} == false)
    }
}
