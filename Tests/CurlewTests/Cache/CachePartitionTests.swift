import CurlewAFNetworking
import CurlewCore
import CurlewTesting
import Foundation
import Testing

@testable import Curlew

/// Sessions with different guards, different users and different hosts do not share responses.
@Suite struct CachePartitionTests: CacheSharing {
    typealias Change = @Sendable (inout SessionConfiguration) -> Void

    // MARK: Guards

    static let guards: [Change] = [
        { $0.addressPolicy = .publicOnly },
        { $0.addressPolicy = .publicOnlyBehind(proxies: [URL(string: "http://proxy:3128")!]) },
        { $0.tls.trustRoots = .pem(Data("one".utf8)) },
        { $0.tls.trustRoots = .file(URL(filePath: "/missing.pem")) },
        { $0.tls.trustRoots = .directory(URL(filePath: "/missing")) },
        { $0.tls.publicKeyPins = ["sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="] },
        { $0.tls.certificateRevocationList = URL(filePath: "/missing.crl") },
        { $0.tls.requiresOCSPStapling = true },
        { $0.tls.minimumVersion = .v1_3 },
        { $0.tls.maximumVersion = .v1_2 },
        { $0.tls.cipherList = "HIGH" },
        { $0.tls.tls13CipherSuites = "TLS_AES_256_GCM_SHA384" },
        { $0.tls.clientIdentity = .pem(certificate: Data("one".utf8), key: Data("key".utf8)) },
        { $0.tls.certificateVerification = .none },
        { $0.tls.certificateVerification = .noHostnameVerification },
        { $0.tls.connectTo = ["example.org:443": "localhost:8443"] },
        { $0.unixSocketPath = "/run/other.sock" },
        { $0.dns.overrides = ["example.org": ["127.0.0.1"]] },
        { $0.dns.dohURL = URL(string: "https://resolver.example/dns-query") },
        { $0.dns.servers = ["192.0.2.1"] },
        { $0.dns.ipVersion = .v6 },
        { $0.proxy = .url(URL(string: "http://proxy:3128")!) },
        { $0.proxy = .url(URL(string: "http://proxy:3128")!, username: "a", password: "b") },
        { $0.proxyRouting = { _ in .url(URL(string: "http://other:3128")!) } },
        { $0.interface = "eth9" },
        { $0.localAddress = "192.0.2.7" },
    ]

    @Test(arguments: guards.indices, [CacheMode.private, .shared])
    func sessionsWithOtherSecuritySettingsDoNotShare(at index: Int, mode: CacheMode) async {
        let change = Self.guards[index]
        let cache = ResponseCache(mode: mode)
        let control = "public, max-age=60"
        #expect(await get(session(cache, "usual", control: control)) == ("usual", .miss))
        #expect(await get(session(cache, "guarded", control: control, change)) == ("guarded", .miss))
        #expect(await get(session(cache, "again", control: control, change)) == ("guarded", .hit))
        #expect(await get(session(cache, "again", control: control)) == ("usual", .hit))
        let next = Self.guards[(index + 1) % Self.guards.count]
        #expect(await get(session(cache, "other", control: control, next)) == ("other", .miss))
        await cache.remove(for: URL(string: CacheServer.url)!)
        #expect(await cache.store.size() == 0)
    }

    /// Settings that do not affect which server may answer, and settings that spell out the default.
    static let harmless: [Change] = [
        { $0.proxyRouting = { _ in nil } },
        { $0.tls.publicKeyPins = [] },
        { $0.timeouts.total = .seconds(5) },
        { $0.headers["User-Agent"] = "other" },
        { $0.httpVersion = .http1_1 },
        { $0.dns.cacheLifetime = .seconds(5) },
    ]

    @Test(arguments: harmless.indices) func settingsWithoutSecurityEffectShareResponses(at index: Int) async {
        let cache = ResponseCache()
        #expect(await get(session(cache, "usual")) == ("usual", .miss))
        #expect(await get(session(cache, "other", Self.harmless[index])) == ("usual", .hit))
    }

    /// The partition of a plain request in a process with these environment variables.
    private func partition(_ proxy: Proxy, _ variables: [String: String], _ netrc: Netrc = .ignored) -> String {
        var configuration = SessionConfiguration()
        configuration.proxy = proxy
        configuration.netrc = netrc
        let partitions = CachePartitions(configuration, evaluatedBy: nil, environment: variables)
        let request = TransferRequest(identifier: TaskIdentifier(rawValue: 1), url: URL(string: CacheServer.url)!)
        return partitions.cacheRequest(request, mode: .private).key.partition
    }

    @Test func environmentProxiesSeparateResponses() {
        let variables = ["https_proxy": "http://proxy:3128"]
        #expect(partition(.environment, [:]) == "" && partition(.none, variables) == "")
        let one = partition(.environment, variables)
        #expect(one != "" && one == partition(.environment, variables))
        #expect(one != partition(.environment, ["https_proxy": "http://other:3128"]))
        #expect(one != partition(.environment, ["https_proxy": "http://proxy:3128", "no_proxy": "example.org"]))
        // Variables that name no proxy, and variables that curl does not read.
        for variables in [["https_proxy": ""], ["no_proxy": "example.org"], ["HTTP_PROXY": "http://proxy:3128"]] {
            #expect(partition(.environment, variables) == "")
        }
    }

    @Test func netrcFileIsFoundInHOME() throws {
        let home = FileManager.default.temporaryDirectory.appending(path: "curlew-home-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: home) }
        let variables = ["HOME": home.path(percentEncoded: false)]
        #expect(partition(.none, variables, .optional) == "")
        let file = home.appending(path: ".netrc")
        try Data("machine example.org login a password b\n".utf8).write(to: file)
        #expect(partition(.none, variables, .optional) != "" && partition(.none, variables) == "")
    }

    /// A mock transport that reports the guards of another configuration.
    private struct OtherGuards: Transport {
        let mock: MockTransport
        let enforced: TransportGuards

        func perform(_ request: TransferRequest, sink: any TransferSink) async throws(CurlewError) -> TransferOutcome {
            try await mock.perform(request, sink: sink)
        }

        func shutdown() async { await mock.shutdown() }

        func enforcedGuards(of configuration: TransportConfiguration) -> TransportGuards { enforced }
    }

    @Test func transportsWithOtherGuardsDoNotShareResponses() async {
        let cache = ResponseCache()
        func session(_ enforced: TransportGuards, _ name: String) -> Session {
            var configuration = SessionConfiguration()
            configuration.cache = cache
            let mock = MockTransport { _ in cacheable(name, "max-age=60") }
            return Session(configuration: configuration, transport: OtherGuards(mock: mock, enforced: enforced))
        }
        #expect(await get(session(.all.subtracting(.tls), "insecure")).text == "insecure")
        #expect(await get(session(.all, "secure")).text == "secure")
        #expect(await get(session(.all.subtracting(.tls), "other")).text == "other")
        #expect(await get(session(.all, "again")).text == "secure")
        // A transport that reports no guards.
        #expect(await get(session([], "unknown")).text == "secure")
    }

    @Test(arguments: [false, true]) func ownTransportOfSessionHasNoOtherGuards(hasTrustManager: Bool) {
        let manager = hasTrustManager ? ServerTrustManager(allHostsMustBeEvaluated: false, evaluators: [:]) : nil
        let configuration = SessionConfiguration()
        let transport = configuration.makeTransport(serverTrustManager: manager)
        #expect(configuration.otherGuards(of: transport, trustManager: manager).isEmpty)
        var other = configuration
        other.tls.certificateVerification = .none
        #expect(configuration.otherGuards(of: other.makeTransport(), trustManager: nil) == .tls)
    }

    @Test func changedTrustRootsFileSeparatesResponses() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "curlew-roots-\(UUID().uuidString).pem")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data("one".utf8).write(to: file)
        let cache = ResponseCache()
        let change: Change = { $0.tls.trustRoots = .file(file) }
        #expect(await get(session(cache, "one", change)) == ("one", .miss))
        #expect(await get(session(cache, "again", change)) == ("one", .hit))
        try Data("two".utf8).write(to: file)
        #expect(await get(session(cache, "two", change)) == ("two", .miss))
    }

    static let managers: [@Sendable () -> ServerTrustManager] = [
        { ServerTrustManager(evaluators: ["example.org": DefaultTrustEvaluator()]) },
        { ServerTrustManager(evaluators: ["example.org": PublicKeysTrustEvaluator(pins: ["sha256//AAAA"])]) },
        { ServerTrustManager(evaluators: ["example.org": DisabledTrustEvaluator()]) },
        { ServerTrustManager(allHostsMustBeEvaluated: false, evaluators: [:]) },
        { SecurityPolicy().serverTrustManager },
    ]

    @Test(arguments: managers.indices, [CacheMode.private, .shared])
    func trustManagersDoNotShareResponses(at index: Int, mode: CacheMode) async {
        let cache = ResponseCache(mode: mode)
        let manager = Self.managers[index]()
        #expect(await get(session(cache, "usual")) == ("usual", .miss))
        #expect(await get(session(cache, "evaluated", trust: manager)) == ("evaluated", .miss))
        #expect(await get(session(cache, "again", trust: manager)) == ("evaluated", .hit))
        #expect(await get(session(cache, "other", trust: Self.managers[index]())) == ("other", .miss))
        #expect(await get(session(cache, "again")) == ("usual", .hit))
    }

    @Test func sharedCacheStoresClientCertificateResponseIfPublic() async {
        let change: Change = { $0.tls.clientIdentity = .pem(certificate: Data("one".utf8), key: Data("key".utf8)) }
        for (control, status) in [("max-age=60", CacheStatus.miss), ("public, max-age=60", .hit)] {
            let cache = ResponseCache(mode: .shared)
            _ = await get(session(cache, "one", control: control, change))
            #expect(await get(session(cache, "again", control: control, change)).status == status)
        }
    }

    /// The digests are part of keys on disks and in Redis, so programs with equal settings must compute equal ones.
    @Test func equalSettingsMakeEqualKeysInEveryProcess() async {
        let cache = ResponseCache()
        _ = await get(session(cache, "") { $0.tls.minimumVersion = .v1_3 }, ["X-Api-Key": "a"])
        let partition = "03425a3ff62217419f9410dfbe832eb3fec69276cd9c6b0f1ef0334993129d6e"
        let key = CacheKey(url: CacheServer.url, partition: partition)
        #expect(await cache.store.entries(for: key).count == 1)
    }

    // MARK: Credentials

    static let credentials = [
        "X-Api-Key", "x-auth-token", "Cookie", "Private-Token", "Proxy-Authorization", "Authorization", "X-Tenant",
    ]

    @Test(arguments: credentials) func aPrivateCacheKeepsOtherCredentialsApart(name: String) async {
        let cache = ResponseCache()
        let server = session(cache, "") { $0.redirects.sensitiveHeaders = ["x-tenant"] }
        func ask(_ name: String, _ value: String) async -> CacheStatus? { await get(server, [name: value]).status }
        #expect(await ask(name, "alice") == .miss)
        #expect(await ask(name, "bob") == .miss)
        #expect(await get(server).status == .miss)
        #expect(await ask(name.lowercased(), "alice") == .hit)
        #expect(await get(server).status == .hit)
    }

    @Test(arguments: credentials) func aSharedCacheTreatsEachCredentialAsAuthorization(name: String) async {
        let change: Change = { $0.redirects.sensitiveHeaders = ["x-tenant"] }
        for (control, isStored) in [("max-age=60", false), ("public, max-age=60", true)] {
            let cache = ResponseCache(mode: .shared)
            _ = await get(session(cache, "alice", control: control, change), [name: "alice"])
            let bobs = await get(session(cache, "bob", control: control, change), [name: "bob"])
            #expect(bobs == (isStored ? ("alice", .hit) : ("bob", .miss)))
        }
    }

    @Test func sessionHeadersCountAsCredentials() async {
        let cache = ResponseCache()
        func named(_ key: String) -> Session { session(cache, key) { $0.headers["X-Api-Key"] = key } }
        #expect(await get(named("one")) == ("one", .miss))
        #expect(await get(named("two")) == ("two", .miss))
        // The request's own field overrides the session's.
        #expect(await get(named("two"), ["X-Api-Key": "one"]) == ("one", .hit))
    }

    @Test func theOrderOfFieldsMakesNoDifference() async {
        let server = session(ResponseCache(), "")
        #expect(await get(server, ["X-Api-Key": "a", "Cookie": "b=c"]).status == .miss)
        #expect(await get(server, ["Cookie": "b=c", "X-Api-Key": "a"]).status == .hit)
        #expect(await get(server, ["Cookie": "a", "X-Api-Key": "b=c"]).status == .miss)
    }

    @Test(arguments: [CacheMode.private, .shared]) func cookieJarsSeparateUsersResponses(mode: CacheMode) async throws {
        let cache = ResponseCache(mode: mode)
        let url = try #require(URL(string: CacheServer.url))
        func user(_ name: String) -> Session {
            let jar = CookieJar()
            jar.set(Cookie(name: "sid", value: name, domain: url.host() ?? "", created: Date()))
            return session(cache, name) { $0.cookies = jar }
        }
        let alice = user("alice")
        #expect(await get(alice) == ("alice", .miss))
        #expect(await get(user("bob")) == ("bob", .miss))
        #expect(await get(session(cache, "nobody")) == ("nobody", .miss))
        #expect(await get(alice) == (mode == .private ? ("alice", .hit) : ("nobody", .hit)))
    }

    @Test(arguments: [CacheMode.private, .shared])
    func requestsOfOtherUsersAtTheSameTimeAreNotCollapsed(mode: CacheMode) async throws {
        let gate = Gate()
        let server = CacheServer(mode: mode) { request in
            cacheable(request.headers["X-Api-Key"] ?? "nobody").waiting(for: gate)
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<6 {
                group.addTask {
                    let name = "user\(index)"
                    #expect(await server.get("a", ["X-Api-Key": name]).text == name)
                }
            }
            // In a shared cache all requests wait for the head of the first, whose response the others cannot use.
            try await eventually { server.sent == (mode == .private ? 6 : 1) }
            gate.open()
            try await group.waitForAll()
        }
        #expect(server.sent == 6)
    }

    @Test func negotiateCredentialsSeparateCachedResponses() async throws {
        let cache = ResponseCache()
        for scheme in [TransferAuthentication.Scheme.negotiate, .any] {
            let change: Change = {
                $0.credentials = ["example.org": TransferAuthentication(scheme: scheme, username: "", password: "")]
            }
            #expect(await get(session(cache, "ticket", change)).status == .miss)
            #expect(await get(session(cache, "again", change)) == ("ticket", .hit))
        }
        #expect(await get(session(cache, "nobody")) == ("nobody", .miss))
    }

    // MARK: Hosts

    @Test(arguments: [CacheMode.private, .shared]) func aHostFieldIsPartOfTheKey(mode: CacheMode) async {
        let server = CacheServer(mode: mode) { request in cacheable(request.headers["Host"] ?? "none") }
        #expect(await server.get("a", ["Host": "tenant-b.example"]).text == "tenant-b.example")
        #expect(await server.get().text == "none")
        #expect(await server.get("a", ["Host": "tenant-c.example"]).text == "tenant-c.example")
        #expect(await server.get("a", ["host": "Tenant-B.example"]).cacheStatus == .hit)
        // The URL's own host, spelled differently.
        for host in ["example.org", "EXAMPLE.org:443"] {
            #expect(await server.get("a", ["Host": host]).cacheStatus == .hit)
        }
        #expect(server.sent == 3)
        // A URL with one of these as its authority would have the original's key, but a server may see another host in
        // the field.
        for (sent, host) in zip(4..., ["example.org#x", "example.org/", "example.org?x", "u@example.org"]) {
            #expect(await server.get("a", ["Host": host]).cacheStatus != .hit)
            #expect(server.sent == sent)
        }
        await server.cache.remove(for: URL(string: CacheServer.url)!)
        #expect(await server.cache.store.size() == 0)
    }

    @Test(arguments: [
        ("example.org:8443", "example.org:8443", true), ("example.org:8443", "example.org:8443:443", false),
        ("[2001:db8::1]", "[2001:db8::1]:443", true), ("[2001:db8::1]:8443", "[2001:db8::1]:8443:443", false),
    ]) func hostFieldThatEqualsURLSharesResponse(authority: String, host: String, isOwn: Bool) async {
        let server = CacheServer { request in cacheable(request.headers["Host"] ?? "none") }
        func status(_ headers: HTTPHeaders) async -> CacheStatus? {
            await server.session.request("https://\(authority)/a", headers: headers).response().cacheStatus
        }
        #expect(await status([:]) == .miss)
        #expect(await status(["Host": host]) == (isOwn ? .hit : .miss))
    }
}
