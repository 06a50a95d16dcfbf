internal import CurlewCore
internal import Foundation

extension CacheRequest {
    /// What a cache has to know of a request on its way to the network.
    convenience init(_ request: TransferRequest, mode: CacheMode, hidden: HiddenCredentials?) {
        let (headers, defaults) = (request.headers, request.defaultHeaders?.headers)
        let options = request.options
        let fields = RequestCacheFields(headers, defaults)
        let hasCredentials = fields.hasAuthorization || options.hasAuthentication
        let credentials = hasCredentials ? Self.credentials(options, headers, defaults) : nil
        self.init(
            url: request.url,
            method: request.method,
            headers: headers,
            defaults: defaults,
            policy: options.cache?.policy ?? .useProtocol,
            decodesContent: options.decodesContent,
            partition: mode == .private ? Self.partition(credentials, hidden) : "",
            hasCredentials: hasCredentials || hidden != nil,
            fields: fields
        )
    }

    private static func partition(_ credentials: String?, _ hidden: HiddenCredentials?) -> String {
        let hidden = hidden?.partition ?? ""
        guard let credentials else { return hidden }
        return CacheDigest.name(of: hidden.isEmpty ? credentials : hidden + "\n" + credentials)
    }

    /// What tells its user apart from others.
    private static func credentials(
        _ options: TransferOptions,
        _ headers: HTTPHeaders,
        _ defaults: HTTPHeaders?
    ) -> String {
        let field = headers.combinedValue(for: "Authorization") ?? defaults?.combinedValue(for: "Authorization")
        guard let authentication = options.authentication else { return field ?? "" }
        let parts = [field ?? "", "\(authentication.scheme)", authentication.username, authentication.password]
        return parts.joined(separator: "\n")
    }
}
