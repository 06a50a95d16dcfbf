import Curlew
import CurlewCore
import CurlewTesting
import Foundation
import Testing

/// Partitions by user if the credentials are not in the request's own fields.
@Suite struct CacheCredentialsTests: CacheSharing {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "curlew-cache-\(UUID().uuidString)")

    init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }

    private func netrc(_ user: String) throws -> Netrc {
        let file = folder.appending(path: user)
        try Data("machine example.org login \(user) password p\n".utf8).write(to: file)
        return .file(file)
    }

    @Test func aPrivateCacheKeepsNetrcFilesApart() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let cache = ResponseCache()
        let (one, two) = (try netrc("one"), try netrc("two"))
        let sessions = [session(cache, "one") { $0.netrc = one }, session(cache, "two") { $0.netrc = two }]
        let plain = session(cache, "plain") { _ in }
        #expect(await get(sessions[0]) == ("one", .miss))
        #expect(await get(sessions[1]) == ("two", .miss))
        #expect(await get(plain) == ("plain", .miss))
        // Another session with the same file belongs to the same user.
        #expect(await get(session(cache, "again") { $0.netrc = one }) == ("one", .hit))
        let own = sessions[0].request(CacheServer.url, headers: ["Authorization": "Bearer t"])
        #expect(await own.response().cacheStatus == .miss)
        // The file names another user from here on.
        try Data("machine example.org login three password p\n".utf8).write(to: folder.appending(path: "one"))
        #expect(await get(session(cache, "three") { $0.netrc = one }) == ("three", .miss))
    }

    @Test func missingNetrcFileDoesNotChangeCacheKey() async {
        let cache = ResponseCache()
        let missing = Netrc.file(folder.appending(path: "missing"))
        #expect(await get(session(cache, "one") { $0.netrc = missing }) == ("one", .miss))
        #expect(await get(session(cache, "two") { _ in }) == ("one", .hit))
        try? FileManager.default.removeItem(at: folder)
    }

    @Test func aPrivateCacheKeepsClientCertificatesApart() async {
        let cache = ResponseCache()
        func client(_ name: String) -> Session {
            session(cache, name) {
                $0.tls.clientIdentity = .pem(certificate: Data(name.utf8), key: Data("key".utf8))
            }
        }
        #expect(await get(client("one")) == ("one", .miss))
        #expect(await get(client("two")) == ("two", .miss))
        #expect(await get(session(cache, "plain") { _ in }) == ("plain", .miss))
        #expect(await get(client("one")) == ("one", .hit))
    }

    @Test func defaultSettingsAddNothingToTheCacheKey() async {
        let cache = ResponseCache(mode: .shared)
        _ = await get(session(cache, "usual") { $0.dns.cacheLifetime = .seconds(5) })
        #expect(await cache.store.entries(for: CacheKey(url: CacheServer.url)).count == 1)
    }

    @Test(arguments: [("max-age=60", false), ("max-age=60, public", true), ("s-maxage=60", true)])
    func sharedCacheTreatsCredentialsAsAuthorization(control: String, isStored: Bool) async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = try netrc("one")
        let changes: [(inout SessionConfiguration) -> Void] = [
            { $0.netrc = file },
            { $0.credentials = ["example.org": TransferAuthentication(username: "a", password: "b")] },
        ]
        for change in changes {
            let cache = ResponseCache(mode: .shared)
            #expect(await get(session(cache, "secret", control: control, change)) == ("secret", .miss))
            #expect(await get(session(cache, "plain") { _ in }) == (isStored ? ("secret", .hit) : ("plain", .miss)))
        }
    }

    @Test(arguments: [("max-age=60", false), ("max-age=60, must-revalidate", true)])
    func credentialsInURLCountAsAuthorization(control: String, isStored: Bool) async {
        let url = "https://user:password@example.org/a"
        let shared = ResponseCache(mode: .shared)
        let named = session(shared, "secret", control: control) { _ in }
        #expect(await named.request(url).response().text == "secret")
        #expect(await get(session(shared, "plain") { _ in }).text == (isStored ? "secret" : "plain"))
        let own = ResponseCache()
        #expect(await session(own, "secret", control: control) { _ in }.request(url).response().text == "secret")
        #expect(await get(session(own, "plain") { _ in }) == ("plain", .miss))
        let other = session(own, "other") { _ in }
        #expect(await other.request("https://user:other@example.org/a").response().text == "other")
        #expect(await other.request(url).response().text == "secret")
    }
}
