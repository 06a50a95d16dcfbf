extension CacheEntry {
    /// The entry as it may leave the process: without the response's fields that hold credentials. The cache leaves out
    /// those that no cache may store; a store outside the process leaves out all whose names say that they are secret.
    package var withoutCredentials: CacheEntry {
        guard response.head.headers.contains(where: { SecretNames.containsField($0.name) }) else { return self }
        var entry = self
        let fields = response.head.headers.filter { !SecretNames.containsField($0.name) }
        entry.response.head.headers = HTTPHeaders(received: fields)
        return entry
    }
}
