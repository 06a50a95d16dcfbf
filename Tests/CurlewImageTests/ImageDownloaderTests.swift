import Curlew
import CurlewLocks
import CurlewTesting
import Dispatch
import Foundation
import Testing

@testable import CurlewImage

@Suite("Loading pictures", .timeLimit(.minutes(4)))
struct ImageDownloaderTests {
    /// Serves one picture at every path except `/broken` and `/404`.
    private final class Gallery: Sendable {
        let transport: MockTransport
        let gate: Gate
        private let running = Lock((now: 0, most: 0))

        init(isOpen: Bool = true) throws {
            let data = try DecoderTests.fixture("six.png")
            let gate = Gate(isOpen: isOpen)
            self.gate = gate
            let running = running
            transport = MockTransport { request in
                running.withLock {
                    $0.now += 1
                    $0.most = max($0.most, $0.now)
                }
                defer { running.withLock { $0.now -= 1 } }
                try await gate.wait()
                switch request.path {
                case "/404": return .text("nothing here", status: 404)
                case "/text": return .text("no picture")
                case "/broken": return .data(data.prefix(40), type: "image/png")
                default: return .data(data, type: "image/png")
                }
            }
        }

        var mostAtATime: Int { running.withLock { $0.most } }

        func downloader(
            _ prioritization: DownloadPrioritization = .fifo,
            most: Int = 4,
            cache: (any ImageRequestCache)? = AutoPurgingImageCache(
                memoryCapacity: 1 << 20, preferredMemoryUsageAfterPurge: 1 << 20)
        ) -> ImageDownloader {
            ImageDownloader(
                session: Session(
                    configuration: SessionConfiguration { $0.completionQueue = DispatchQueue(label: "pictures") },
                    transport: transport),
                downloadPrioritization: prioritization,
                maximumActiveDownloads: most,
                imageCache: cache
            )
        }
    }

    private func url(_ name: some CustomStringConvertible) -> URL { URL(string: "https://example.com/\(name)")! }

    /// Returns when this many receivers wait for the picture of a path.
    private func waitForReceivers(
        _ count: Int, of path: String, generation: Int = 1, in downloader: ImageDownloader
    ) async throws {
        let key = LoadKey(URLRequest(url: url(path)))
        try await eventually {
            downloader.state.withLock { $0.loads.receivers(of: key, generation: generation).count } >= count
        }
    }

    @Test("a thousand loads of twenty pictures are twenty transfers, four at a time at most", arguments: [true, false])
    func merging(isOpen: Bool) async throws {
        let gallery = try Gallery(isOpen: isOpen)
        let downloader = gallery.downloader()
        let count = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<1000 {
                group.addTask { (try? await downloader.image(for: url(number % 20)))?.size.width == 3 }
            }
            if !isOpen {
                _ = try? await gallery.transport.waitForRequests(count: 4)
                gallery.gate.open()
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(count == 1000)
        #expect(gallery.transport.requests.count == 20)
        #expect(gallery.mostAtATime <= 4)
        #expect(downloader.activeDownloadCount == 0 && downloader.waitingDownloadCount == 0)
        #expect(try await downloader.image(for: url(0)).size.width == 3)
        #expect(gallery.transport.requests.count == 20, "it was kept")
    }

    @Test("each receiver gets the picture of its filter, and equal filters run once")
    func filters() async throws {
        let gallery = try Gallery(isOpen: false)
        let downloader = gallery.downloader()
        let calls = Lock(0)
        struct Counting: ImageFilter {
            let calls: Lock<Int>
            var identifier: String { "one" }
            func filter(_ image: Image) -> Image {
                calls.withLock { $0 += 1 }
                return CroppedFilter(centre: ImageSize(width: 1, height: 1)).filter(image)
            }
        }
        async let plain = downloader.image(for: url("a"))
        async let first = downloader.image(for: url("a"), filter: Counting(calls: calls))
        async let second = downloader.image(for: url("a"), filter: Counting(calls: calls))
        try await gallery.gate.waitForArrivals(count: 1)
        try await waitForReceivers(3, of: "a", in: downloader)
        gallery.gate.open()
        let (whole, part, same) = try await (plain, first, second)
        #expect(whole.size.width == 3 && part.size.width == 1 && same == part)
        #expect(calls.withLock { $0 } == 1 && gallery.transport.requests.count == 1)
        #expect(downloader.imageCache?.image(for: URLRequest(url: url("a")), withIdentifier: "one")?.size.width == 1)
    }

    @Test("cancelling a receipt removes one receiver, and the last one cancels the transfer")
    func receipts() async throws {
        let gallery = try Gallery(isOpen: false)
        let downloader = gallery.downloader()
        let answers = Lock<[String]>([])
        let done = Gate()
        @Sendable func note(_ name: String, _ response: ImageResponse) {
            let count = answers.withLock { answers in
                answers.append("\(name) \(response.error?.code.rawValue ?? "\(response.isFromCache)")")
                return answers.count
            }
            if count == 4 { done.open() }
        }
        let first = try #require(downloader.download(url("a")) { note("first", $0) })
        _ = downloader.download(url("a")) { note("second", $0) }
        let alone = try #require(downloader.download(url("b")) { note("alone", $0) })
        try await gallery.gate.waitForArrivals(count: 2)
        downloader.cancel(first)
        downloader.cancel(first)
        downloader.cancel(alone)
        #expect(downloader.activeDownloadCount == 1)
        gallery.gate.open()
        try await eventually { downloader.activeDownloadCount == 0 }
        try await eventually {
            downloader.imageCache?.image(for: URLRequest(url: url("a")), withIdentifier: nil) != nil
        }
        #expect(downloader.download(url("a")) { note("cached", $0) } == nil)
        try await done.wait()
        #expect(answers.withLock { Set($0) } == ["first cancelled", "second false", "alone cancelled", "cached true"])
        #expect(downloader.imageCache?.image(for: URLRequest(url: url("b")), withIdentifier: nil) == nil)
    }

    @Test("a cancelled task does not cancel the load of another task")
    func cancelledTask() async throws {
        let gallery = try Gallery(isOpen: false)
        let downloader = gallery.downloader()
        let leaving = Task { try await downloader.image(for: url("a")) }
        let staying = Task { try await downloader.image(for: url("a")) }
        try await gallery.gate.waitForArrivals(count: 1)
        leaving.cancel()
        let error = await #expect(throws: CurlewError.self) { _ = try await leaving.value }
        #expect(error?.code == .cancelled)
        gallery.gate.open()
        #expect(try await staying.value.size.width == 3)
        #expect(gallery.transport.requests.count <= 2)
        let never = Task {
            try? await Gate().wait()
            return try await downloader.image(for: url("late"))
        }
        never.cancel()
        #expect((await never.result).isCancelled)
        #expect(!gallery.transport.requests.contains { $0.url.path() == url("late").path() })
    }

    @Test("waiting loads start in the order of the prioritization", arguments: [DownloadPrioritization.fifo, .lifo])
    func order(prioritization: DownloadPrioritization) async throws {
        let gallery = try Gallery(isOpen: false)
        let downloader = gallery.downloader(prioritization, most: 1)
        let done = Gate()
        let count = Lock(0)
        for number in 0..<5 {
            _ = downloader.download(url(number)) { _ in
                if count.withLock({ count in
                    count += 1; return count == 5
                }) {
                    done.open()
                }
            }
        }
        #expect(downloader.activeDownloadCount == 1 && downloader.waitingDownloadCount == 4)
        gallery.gate.open()
        try await done.wait()
        let order = gallery.transport.requests.map(\.path)
        #expect(order == (prioritization == .fifo ? ["/0", "/1", "/2", "/3", "/4"] : ["/0", "/4", "/3", "/2", "/1"]))
    }

    @Test(
        "a failed load gives its error to each of its receivers and is not cached",
        arguments: [
            ("404", CurlewError.Code.unacceptableStatus), ("text", .unacceptableContentType),
            ("broken", .decodingFailed),
        ])
    func failures(path: String, code: CurlewError.Code) async throws {
        let gallery = try Gallery(isOpen: false)
        let downloader = gallery.downloader()
        let receivers = (0..<2).map { _ in Task { try await downloader.image(for: url(path)) } }
        try await gallery.gate.waitForArrivals(count: 1)
        try await waitForReceivers(2, of: path, in: downloader)
        gallery.gate.open()
        for receiver in receivers {
            let error = await #expect(throws: CurlewError.self) { _ = try await receiver.value }
            #expect(error?.code == code && gallery.transport.requests.count == 1)
        }
        let again = await #expect(throws: CurlewError.self) { _ = try await downloader.image(for: url(path)) }
        #expect(again?.code == code && gallery.transport.requests.count == 2)
        let none = await #expect(throws: CurlewError.self) { _ = try await downloader.image(for: "") }
        #expect(none?.code == .invalidURL)
    }

    @Test("requests that differ in a field are different loads, and a cache key names the cached picture")
    func keys() async throws {
        let gallery = try Gallery()
        let downloader = gallery.downloader()
        var other = URLRequest(url: url("a"))
        other.setValue("image/webp", forHTTPHeaderField: "Accept")
        #expect(LoadKey(other) != LoadKey(URLRequest(url: url("a"))))
        _ = try await downloader.image(for: other, cacheKey: "mine", filter: CircleFilter())
        #expect(downloader.imageCache?.image(withIdentifier: "mine-circle") != nil)
        _ = try await downloader.image(for: url("elsewhere"), cacheKey: "mine", filter: CircleFilter())
        #expect(gallery.transport.requests.count == 1)
        other.cachePolicy = .reloadIgnoringLocalCacheData
        _ = try await downloader.image(for: other, cacheKey: "mine", filter: CircleFilter())
        #expect(gallery.transport.requests.count == 2)
    }

    @Test(
        "a picture of a request with a credential or a body is not shared", arguments: ["Authorization", "Cookie"])
    func credentials(field: String) async throws {
        let gallery = try Gallery()
        let downloader = gallery.downloader()
        var own = URLRequest(url: url("a"))
        own.setValue("A", forHTTPHeaderField: field)
        var posted = URLRequest(url: url("a"))
        posted.httpMethod = "POST"
        posted.httpBody = Data("a".utf8)
        for (count, request) in [own, own, posted, posted, URLRequest(url: url("a")), own, posted].enumerated() {
            _ = try await downloader.image(for: request)
            #expect(gallery.transport.requests.count == count + 1)
        }
        _ = try await downloader.image(for: url("a"))
        #expect(gallery.transport.requests.count == 7, "the one without a credential was kept")
        for _ in 0..<2 { _ = try await downloader.image(for: own, cacheKey: "A's") }
        #expect(gallery.transport.requests.count == 8)
    }

    @Test("only equal requests share a transfer")
    func loadKeys() {
        let plain = URLRequest(url: url("a"))
        var reloading = plain
        reloading.cachePolicy = .reloadIgnoringLocalCacheData
        var (first, second, streamed) = (plain, plain, plain)
        (first.httpMethod, second.httpMethod, streamed.httpMethod) = ("POST", "POST", "POST")
        (first.httpBody, second.httpBody) = (Data("1".utf8), Data("2".utf8))
        streamed.httpBodyStream = InputStream(data: Data("1".utf8))
        var other = streamed
        other.httpBodyStream = InputStream(data: Data("1".utf8))
        let requests = [plain, reloading, first, second, streamed, other]
        for (index, left) in requests.enumerated() {
            for (place, right) in requests.enumerated() {
                #expect((LoadKey(left) == LoadKey(right)) == (index == place))
            }
        }
    }

    @Test("the filtered picture of a URL is not found under another URL")
    func names() async throws {
        let gallery = try Gallery()
        let downloader = gallery.downloader()
        let whole = try await downloader.image(for: url("a-circle"))
        let round = try await downloader.image(for: url("a"), filter: CircleFilter())
        #expect(gallery.transport.requests.count == 2 && whole != round)
        let cache = try #require(downloader.imageCache)
        let request = URLRequest(url: url("a"))
        #expect(cache.image(for: request, withIdentifier: "circle") == round)
        #expect(cache.image(for: request) == nil)
        #expect(cache.removeImage(for: request, withIdentifier: "circle"))
    }

    @Test("prefetching fills the cache, and stopping it does not cancel other loads")
    func prefetching() async throws {
        let gallery = try Gallery(isOpen: false)
        let downloader = gallery.downloader(most: 2)
        let prefetcher = ImagePrefetcher(downloader: downloader)
        prefetcher.start([url("a"), url("b"), url("c"), url("a")])
        #expect(prefetcher.activeCount == 3)
        let wanted = Task { try await downloader.image(for: url("b")) }
        try await gallery.gate.waitForArrivals(count: 2)
        try await waitForReceivers(2, of: "b", generation: 2, in: downloader)
        prefetcher.stop()
        #expect(prefetcher.activeCount == 0)
        gallery.gate.open()
        #expect(try await wanted.value.size.width == 3)
        #expect(await prefetcher.prefetch([url("b"), url("d"), url("404")]) == 1)
        let before = gallery.transport.requests.count
        _ = try await downloader.image(for: url("d"))
        #expect(gallery.transport.requests.count == before)
        prefetcher.start([url("d")])
        try await eventually { prefetcher.activeCount == 0 }
    }

    @Test("the end of a stopped prefetch does not end a later one of the same URL")
    func prefetchingAgain() async throws {
        let gallery = try Gallery(isOpen: false)
        let downloader = gallery.downloader()
        let prefetcher = ImagePrefetcher(downloader: downloader)
        prefetcher.start([url("a")])
        prefetcher.stop([url("a")])
        prefetcher.start([url("a")])
        // The queue is serial, so the end of the first load has been handled once this block runs.
        await withCheckedContinuation { told in ImagePrefetcher.queue.async { told.resume() } }
        #expect(prefetcher.activeCount == 1 && downloader.activeDownloadCount == 1)
        prefetcher.stop()
        #expect(prefetcher.activeCount == 0 && downloader.activeDownloadCount == 0)
    }

    @Test("a filter may call the prefetcher that uses it")
    func prefetchingFilter() async throws {
        struct Asking: ImageFilter {
            let prefetcher: Lock<ImagePrefetcher?>
            var identifier: String { "asking \(prefetcher.withLock { $0 }?.activeCount ?? -1)" }
            func filter(_ image: Image) -> Image { image }
        }
        let gallery = try Gallery()
        let asked = Lock<ImagePrefetcher?>(nil)
        let prefetcher = ImagePrefetcher(downloader: gallery.downloader(), filter: Asking(prefetcher: asked))
        asked.withLock { $0 = prefetcher }
        prefetcher.start([url("a")])
        try await eventually { prefetcher.activeCount == 0 }
        asked.withLock { $0 = nil }
        #expect(gallery.transport.requests.count == 1)
    }

    @Test("without a cache everything is loaded each time")
    func noCache() async throws {
        let gallery = try Gallery()
        let downloader = gallery.downloader(cache: nil)
        for _ in 0..<2 { _ = try await downloader.image(for: url("a")) }
        #expect(gallery.transport.requests.count == 2)
    }
}

extension Result where Failure == any Error {
    fileprivate var isCancelled: Bool {
        switch self {
        case .success: false
        case .failure(let error): (error as? CurlewError)?.code == .cancelled
        }
    }
}
