internal import CurlewCore
internal import Foundation

extension CacheRequest {
    /// What a cache has to know of a request on its way to the network.
    init(_ request: TransferRequest, mode: CacheMode, hidesCredentials: Bool) {
        let headers = request.effectiveHeaders
        let credentials = Self.credentials(of: request, headers)
        self.init(
            url: request.url,
            method: request.method,
            headers: headers,
            policy: request.options.cache?.policy ?? .useProtocol,
            decodesContent: request.options.decodesContent,
            partition: mode == .private ? credentials.map(CacheDigest.name) ?? "" : "",
            hasCredentials: credentials != nil || hidesCredentials
        )
    }

    /// What tells its user apart from others.
    private static func credentials(of request: TransferRequest, _ headers: HTTPHeaders) -> String? {
        let field = headers.combinedValue(for: "Authorization")
        guard let authentication = request.options.authentication else { return field }
        let parts = [field ?? "", "\(authentication.scheme)", authentication.username, authentication.password]
        return parts.joined(separator: "\n")
    }

    /// Whether its response may be that of another request that is sent at the same time.
    var isCollapsible: Bool {
        method == .get && policy == .useProtocol && control.isEmpty && !hasRange && !hasCondition
    }
}
