package import Foundation

/// The facts about a request that a cache needs. A class, because the run and the storage of its response share one
/// instance.
package final class CacheRequest: Sendable {
    package let key: CacheKey
    package let method: HTTPMethod
    private let own: HTTPHeaders
    private let defaults: HTTPHeaders?
    package let control: CacheControl
    package let policy: CachePolicy
    /// Whether the caller wants the body with its content coding removed.
    package let decodesContent: Bool
    /// Whether the request is sent with credentials, in a field or added by the transport.
    package let hasCredentials: Bool
    /// Whether some of the credentials are neither in a field nor in the key. `Vary` then cannot tell which user a
    /// response belongs to.
    package let hidesCredentials: Bool
    package let hasRange: Bool
    /// Whether the caller has set a condition that a cache may evaluate (RFC 9111, 4.3.2).
    package let hasCondition: Bool
    /// Whether there is a condition that only the server can evaluate.
    package let hasPrecondition: Bool
    /// Whether this is a `GET` without ranges, conditions, cache directives or a special policy. It may share the
    /// response of an identical request that is in flight.
    package let isPlain: Bool

    /// `defaults` supplies the fields that `headers` does not name. Pass `fields` if those of both are known already.
    package init(
        url: URL,
        method: HTTPMethod = .get,
        headers: HTTPHeaders = [:],
        defaults: HTTPHeaders? = nil,
        policy: CachePolicy = .useProtocol,
        decodesContent: Bool = true,
        partition: String = "",
        hasCredentials: Bool = false,
        hidesCredentials: Bool = false,
        fields: RequestCacheFields? = nil
    ) {
        let fields = fields ?? RequestCacheFields(headers, defaults)
        self.hasCredentials = hasCredentials || fields.hasCredentials
        self.hidesCredentials = hidesCredentials
        hasRange = fields.hasRange
        hasCondition = fields.hasCondition
        hasPrecondition = fields.hasPrecondition
        key = CacheKey(url: url, partition: partition)
        self.method = method
        (own, self.defaults) = (headers, defaults)
        control = fields.hasControl ? CacheControl(headers.completed(by: defaults)) : CacheControl()
        self.policy = policy
        self.decodesContent = decodesContent
        isPlain = method == .get && policy == .useProtocol && !fields.concernsCaches && control.isEmpty
    }

    /// All fields that are sent, in one list.
    package var headers: HTTPHeaders { own.completed(by: defaults) }
}

/// The fields of a request that concern a cache, found in one pass over the names.
package struct RequestCacheFields: Sendable {
    /// Whether a field has a secret name: `Authorization`, `Cookie`, `X-Api-Key`, ….
    package private(set) var hasCredentials = false
    package private(set) var hasHost = false
    fileprivate var hasRange = false
    fileprivate var hasCondition = false
    fileprivate var hasPrecondition = false
    fileprivate var hasControl = false

    /// Whether a field asks for a range or sets a condition. Credentials and the host are part of the key instead.
    fileprivate var concernsCaches: Bool { hasRange || hasCondition || hasPrecondition }

    /// `secrets` lists further names of fields that hold credentials.
    package init(_ headers: HTTPHeaders, _ defaults: HTTPHeaders?, secrets: [String] = []) {
        add(headers, secrets)
        if let defaults { add(defaults, secrets) }
    }

    private mutating func add(_ headers: HTTPHeaders, _ secrets: [String]) {
        headers.forEachName { name in
            let name = ASCII.lowercased(name)
            switch name {
            case "range": hasRange = true
            case "if-match", "if-unmodified-since": hasPrecondition = true
            case "if-none-match", "if-modified-since": hasCondition = true
            case "cache-control", "pragma": hasControl = true
            case "host": hasHost = true
            default: break
            }
            if !hasCredentials { hasCredentials = Self.isSecret(name, or: secrets) }
        }
    }

    /// Whether a field identifies a user. `name` must be in lower case.
    package static func isSecret(_ name: String, or secrets: [String]) -> Bool {
        if secrets.contains(where: { ASCII.equalsIgnoringCase($0, name) }) { return true }
        switch name {
        case "accept", "accept-encoding", "accept-language", "user-agent": return false
        default: return SecretNames.containsField(name)
        }
    }
}
