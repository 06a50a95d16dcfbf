/// Values behind one reference: copies cost as much as that, and the first change of one makes it a value of its own.
struct CopyOnWrite<Values: Sendable>: Sendable {
    // SAFETY: changed only by the one value that holds it, before which it is copied.
    private final class Storage: @unchecked Sendable {
        @exclusivity(unchecked) var values: Values

        init(_ values: Values) { self.values = values }
    }

    private var storage: Storage

    init(_ values: Values) { storage = Storage(values) }

    /// Whether both are one value's copies, neither of which was changed.
    func isCopy(of other: CopyOnWrite) -> Bool { storage === other.storage }

    var values: Values {
        _read { yield storage.values }
        _modify {
            if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.values) }
            yield &storage.values
        }
    }
}
