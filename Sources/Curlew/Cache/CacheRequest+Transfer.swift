internal import CurlewCore
internal import Foundation

extension CacheRequest {
    /// What a cache has to know of a request on its way to the network.
    convenience init(_ request: TransferRequest, mode: CacheMode, hidden: HiddenCredentials?) {
        let (headers, defaults) = (request.headers, request.defaultHeaders?.headers)
        let options = request.options
        let fields = RequestCacheFields(headers, defaults)
        let hasCredentials = fields.hasAuthorization || options.hasAuthentication
        let isPrivate = mode == .private
        let credentials = hasCredentials && isPrivate ? Self.credentials(options, headers, defaults) : nil
        let areHidden = hidden?.areSent ?? false
        self.init(
            url: request.url,
            method: request.method,
            headers: headers,
            defaults: defaults,
            policy: options.cache?.policy ?? .useProtocol,
            decodesContent: options.decodesContent,
            partition: Self.partition(credentials, hidden, isPrivate: isPrivate),
            hasCredentials: hasCredentials || areHidden,
            // A private cache has them in the key.
            hidesCredentials: !isPrivate && (areHidden || options.hasAuthentication),
            fields: fields
        )
    }

    private static func partition(
        _ credentials: String?,
        _ hidden: HiddenCredentials?,
        isPrivate: Bool
    ) -> String {
        // As for nearly all.
        guard credentials != nil || hidden != nil else { return "" }
        let peers = hidden?.peers ?? ""
        guard isPrivate else { return peers }
        let added = hidden?.partition ?? ""
        guard let credentials else { return peers + added }
        return peers + CacheDigest.name(of: added.isEmpty ? credentials : added + "\n" + credentials)
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
