internal import CurlewCore
internal import Foundation

extension CacheRequest {
    /// What a cache has to know of a request on its way to the network.
    convenience init(_ request: TransferRequest, mode: CacheMode, hidden: HiddenCredentials?) {
        let (headers, defaults) = (request.headers, request.defaultHeaders?.headers)
        let credentials = Self.credentials(of: request, headers, defaults)
        self.init(
            url: request.url,
            method: request.method,
            headers: headers,
            defaults: defaults,
            policy: request.options.cache?.policy ?? .useProtocol,
            decodesContent: request.options.decodesContent,
            partition: mode == .private ? Self.partition(credentials, hidden) : "",
            hasCredentials: credentials != nil || hidden != nil
        )
    }

    private static func partition(_ credentials: String?, _ hidden: HiddenCredentials?) -> String {
        let hidden = hidden?.partition ?? ""
        guard let credentials else { return hidden }
        return CacheDigest.name(of: hidden.isEmpty ? credentials : hidden + "\n" + credentials)
    }

    /// What tells its user apart from others.
    private static func credentials(
        of request: TransferRequest,
        _ headers: HTTPHeaders,
        _ defaults: HTTPHeaders?
    ) -> String? {
        let field = headers.combinedValue(for: "Authorization") ?? defaults?.combinedValue(for: "Authorization")
        guard let authentication = request.options.authentication else { return field }
        let parts = [field ?? "", "\(authentication.scheme)", authentication.username, authentication.password]
        return parts.joined(separator: "\n")
    }

    /// Whether its response may be that of another request that is sent at the same time.
    var isCollapsible: Bool {
        method == .get && policy == .useProtocol && control.isEmpty && !hasRange && !hasCondition
    }
}
