/// Stores values in one reference with the semantics of a struct. Large values that are passed often and changed rarely
/// are copied at the cost of a reference; a change copies the values if they are shared.
struct CopyOnWrite<Values: Sendable>: Sendable {
    // SAFETY: the storage is changed only while one `CopyOnWrite` refers to it; a shared storage is copied first.
    private final class Storage: @unchecked Sendable {
        @exclusivity(unchecked) var values: Values

        init(_ values: Values) { self.values = values }
    }

    private var storage: Storage

    init(_ values: Values) { storage = Storage(values) }

    /// Whether both are copies of one value, and neither has been changed since.
    func isCopy(of other: CopyOnWrite) -> Bool { storage === other.storage }

    var values: Values {
        _read { yield storage.values }
        _modify {
            if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.values) }
            yield &storage.values
        }
    }
}
