public import Foundation

/// The description of a stored response: everything but its body.
///
/// A store need not understand it. It keeps `encoded` next to the body and reads `key`, `variant`, `id` and `lifetime`.
public struct CacheEntry: Sendable, Equatable {
    /// The unique name of this response: 32 hexadecimal digits, usable as a file name. A validation keeps the name,
    /// because the body stays; a new response gets a new one.
    public let id: String
    /// The URL and the partition under which the entry is found.
    public let key: CacheKey
    /// Distinguishes the variants of one key: a digest of the request fields that `Vary` names, empty without such
    /// fields. A store has one entry per key and variant: the one that was committed last.
    public let variant: String
    /// The names of the fields that `Vary` lists, in lower case and sorted.
    package let varyingFields: [String]
    /// The head of the response and its times.
    package var response: StoredResponse
    /// The time for which the entry is fresh, and for which it may be served stale.
    public var lifetime: CacheLifetime

    package init(
        id: String,
        key: CacheKey,
        variant: String = "",
        varyingFields: [String] = [],
        response: StoredResponse,
        lifetime: CacheLifetime
    ) {
        self.id = id
        self.key = key
        self.variant = variant
        self.varyingFields = varyingFields
        self.response = response
        self.lifetime = lifetime
    }
}

extension CacheEntry {
    /// The entry without the response fields that hold credentials, safe to leave the process. The cache itself omits
    /// only the fields that no cache may store; a store outside the process also omits every field with a secret name.
    package var withoutCredentials: CacheEntry {
        guard response.head.headers.contains(where: { SecretNames.containsField($0.name) }) else { return self }
        var entry = self
        let fields = response.head.headers.filter { !SecretNames.containsField($0.name) }
        entry.response.head.headers = HTTPHeaders(received: fields)
        return entry
    }
}

/// The head of a stored response, with the times of its exchange.
package struct StoredResponse: Sendable, Equatable {
    /// Status line and fields, without those that must not be stored (`Connection`, `Set-Cookie`, …).
    package var head: ResponseHead
    /// The time when the request was sent.
    package var requestTime: Date
    /// The time when the head of the response had been received.
    package var responseTime: Date
    /// Whether the stored body has its `Content-Encoding` removed.
    package var isContentDecoded: Bool

    package init(head: ResponseHead, requestTime: Date, responseTime: Date, isContentDecoded: Bool = true) {
        self.head = head
        self.requestTime = requestTime
        self.responseTime = responseTime
        self.isContentDecoded = isContentDecoded
    }
}

/// The time for which an entry is useful. The cache computes it, and again after each validation; a store only reads
/// it.
public struct CacheLifetime: Sendable, Hashable {
    /// The response is served without asking the server until this date.
    public package(set) var freshUntil: Date
    /// The response may be served stale until this date (`stale-while-revalidate`, `stale-if-error`). Never before
    /// `freshUntil`. A store with expiry times, such as Redis, uses this date.
    public package(set) var usableUntil: Date
    /// Whether the response has an entity tag or a modification date. Such an entry is worth keeping after
    /// `usableUntil`: the server may confirm it, and its body need not be transferred again.
    public package(set) var canBeValidated: Bool

    /// Creates a lifetime. `usableUntil` is raised to `freshUntil` if it is earlier.
    package init(freshUntil: Date, usableUntil: Date, canBeValidated: Bool) {
        self.freshUntil = freshUntil
        self.usableUntil = max(freshUntil, usableUntil)
        self.canBeValidated = canBeValidated
    }
}
