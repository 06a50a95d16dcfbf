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
