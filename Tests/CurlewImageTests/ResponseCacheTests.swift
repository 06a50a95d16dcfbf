import Curlew
import CurlewDiskCache
import CurlewTesting
import Foundation
import FoundationNetworking
import Testing

@testable import CurlewImage

@Suite("Pictures in a disk cache", .timeLimit(.minutes(4)))
struct ResponseCacheTests {
    private let server: TestServer
    private let folder: ScratchDirectory

    init() throws {
        let picture = try DecoderTests.fixture("six.png")
        folder = try ScratchDirectory()
        server = try TestServer()
        server.route("/fresh") { _ in .data(picture, type: "image/png").header("Cache-Control", "max-age=60") }
        server.route("/validated") { request in
            let isKnown = request.headers["If-None-Match"] == "\"a\""
            return (isKnown ? TestServer.Response.status(304) : .data(picture, type: "image/png"))
                .header("Cache-Control", "no-cache").header("ETag", "\"a\"")
        }
    }

    /// A downloader like that of a later process: it has no image in memory, and the test gives it a new cache over the
    /// directory.
    private func downloader(_ cache: ResponseCache?) -> ImageDownloader {
        ImageDownloader(imageCache: nil, responseCache: cache)
    }

    @Test("a later downloader finds the pictures that an earlier one has stored on disk") func later() async throws {
        for _ in 0..<2 {
            let downloader = downloader(ImageDownloader.responseCache(in: folder.file("images")))
            #expect(try await downloader.image(for: server.url("/fresh")).size.width == 3)
            await downloader.session.invalidate()
        }
        #expect(server.requests.count == 1)
    }

    @Test("a stored picture is validated without a new body, and a reload asks the server again")
    func validated() async throws {
        let downloader = downloader(ImageDownloader.responseCache(in: folder.file("images")))
        for _ in 0..<2 { #expect(try await downloader.image(for: server.url("/validated")).size.width == 3) }
        #expect(server.requests.map { $0.headers["If-None-Match"] } == [nil, "\"a\""])
        var reloading = URLRequest(url: server.url("/fresh"))
        _ = try await downloader.image(for: reloading)
        reloading.cachePolicy = .reloadIgnoringLocalCacheData
        _ = try await downloader.image(for: reloading)
        #expect(server.requests.count == 4)
        await downloader.session.invalidate()
    }

    @Test("the response cache can be turned off, and an unusable directory gives none") func off() async throws {
        try folder.write("file", "")
        let unusable = ImageDownloader.responseCache(in: folder.file("file"))
        #expect(unusable == nil && ImageDownloader.responseCache(in: nil) == nil)
        let downloader = downloader(nil)
        #expect(downloader.session.configuration.cache == nil)
        for _ in 0..<2 { _ = try await downloader.image(for: server.url("/fresh")) }
        #expect(server.requests.count == 2)
        await downloader.session.invalidate()
    }

    @Test("the response cache is a private disk cache, and the size of a picture is limited in it and in a download")
    func bounds() async throws {
        let cache = try #require(ImageDownloader.responseCache(in: folder.file("images")))
        #expect(cache.store is DiskCacheStore && cache.mode == .private)
        let most = ImageDownloader.maximumPictureSize
        #expect(ImageDownloader.defaultConfiguration.maximumBodySize == most)
        let now = Date()
        let entry = CacheEntry(
            id: String(repeating: "0", count: 32),
            key: CacheKey(url: "https://example.com/a"),
            response: StoredResponse(head: ResponseHead(status: 200), requestTime: now, responseTime: now),
            lifetime: CacheLifetime(freshUntil: now + 60, usableUntil: now + 60, canBeValidated: false)
        )
        #expect(await cache.store.writer(for: entry, expectedSize: Int64(most / 2)) != nil)
        #expect(await cache.store.writer(for: entry, expectedSize: Int64(most + 1)) == nil)
    }

    @Test("a session that is passed to the downloader keeps its own cache") func ownSession() async throws {
        let session = Session(transport: MockTransport { _ in .status(404) })
        let downloader = ImageDownloader(
            session: session, responseCache: ImageDownloader.responseCache(in: folder.file("images")))
        #expect(downloader.session === session && downloader.session.configuration.cache == nil)
    }

    @Test(
        "the directory follows the environment",
        arguments: [
            (["XDG_CACHE_HOME": "/c", "HOME": "/h"], "shop", "/c/shop/curlew-images/"),
            (["XDG_CACHE_HOME": "relative", "HOME": "/h"], "shop", "/h/.cache/shop/curlew-images/"),
            (["XDG_CACHE_HOME": "", "HOME": "/h"], "../etc", "/h/.cache/curlew/curlew-images/"),
            (["HOME": "/h"], "..", "/h/.cache/curlew/curlew-images/"), (["HOME": ""], "shop", nil), ([:], "shop", nil),
        ] as [([String: String], String, String?)])
    func directory(environment: [String: String], program: String, path: String?) {
        let directory = ImageDownloader.cacheDirectory(environment: environment, program: program)
        #expect(directory?.path(percentEncoded: false) == path)
    }
}
