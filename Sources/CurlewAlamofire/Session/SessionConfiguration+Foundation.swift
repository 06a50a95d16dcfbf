public import Curlew
internal import Foundation
public import FoundationNetworking

extension SessionConfiguration {
    /// A configuration that keeps nothing beyond its sessions: the default one, which has neither cookies nor a cache,
    /// with cookies in memory, as in Foundation's ephemeral one.
    public static var ephemeral: SessionConfiguration { SessionConfiguration { $0.cookies = CookieJar() } }

    /// Creates a configuration from the settings of a Foundation configuration that have a meaning here.
    ///
    /// - `httpAdditionalHeaders` become `headers`; without them Curlew's default ones stay.
    /// - `timeoutIntervalForRequest` becomes the timeouts `firstByte` and `idle`, `timeoutIntervalForResource` the
    ///   total timeout. A week, which is Foundation's default, or more sets no total timeout.
    /// - `httpMaximumConnectionsPerHost`; `httpShouldSetCookies` (a jar in memory with the cookies of the storage,
    ///   unless the policy is `.never`); `connectionProxyDictionary`, which Foundation on Linux does not read.
    /// - `urlCache`, unless it is the shared one, which every configuration has: its size in memory becomes that of a
    ///   cache in memory. `DiskCacheStore` of `CurlewDiskCache` keeps responses in a directory.
    ///
    /// Other settings have no effect. The process's log says so once for each.
    public init(_ configuration: FoundationNetworking.URLSessionConfiguration) {
        self.init()
        identifier = configuration.identifier
        if let fields = configuration.httpAdditionalHeaders, !fields.isEmpty {
            headers = HTTPHeaders(fields.map { HTTPHeader(name: "\($0.key)", value: "\($0.value)") })
        }
        if configuration.timeoutIntervalForRequest > 0 {
            let seconds = Duration.bounded(seconds: configuration.timeoutIntervalForRequest)
            timeouts.firstByte = seconds
            timeouts.idle = seconds
        }
        let total = configuration.timeoutIntervalForResource
        let week: TimeInterval = 7 * 24 * 60 * 60
        if total > 0, total < week { timeouts.total = .seconds(total) }
        if configuration.httpMaximumConnectionsPerHost > 0 {
            maximumConnectionsPerHost = configuration.httpMaximumConnectionsPerHost
        }
        if configuration.httpShouldSetCookies, configuration.httpCookieAcceptPolicy != .never,
            let storage = configuration.httpCookieStorage
        {
            let jar = CookieJar()
            for cookie in storage.cookies ?? [] { jar.set(cookie) }
            cookies = jar
        }
        if let proxies = configuration.connectionProxyDictionary.map(FoundationProxies.init) {
            proxyRouting = { proxies.proxy(for: $0) }
        }
        if let urlCache = configuration.urlCache, urlCache !== FoundationNetworking.URLCache.shared,
            urlCache.memoryCapacity > 0
        {
            cache = ResponseCache(store: MemoryCacheStore(maximumSize: urlCache.memoryCapacity))
        }
        FoundationNotice.tell(of: configuration)
    }
}
