/// Removes body files without an entry: those that killed processes left, and those of a damaged index.
///
/// Runs in the background. The names are checked in small groups, so that the lane can run other work in between.
struct OrphanCollection: Sendable {
    private static let namesAtOnce = 64

    let folder: CacheFolder
    let lane: IndexLane

    func start() {
        Lane.nextForBodies().enqueue {
            collect(folder.bodyIDs()[...])
        }
    }

    private func collect(_ ids: ArraySlice<EntryID>) {
        guard !ids.isEmpty else { return }
        lane.enqueue { index throws(DatabaseFault) in
            for id in ids.prefix(Self.namesAtOnce) { try collect(id, index) }
        } completion: { isDone in
            // After a failure the lane cannot reach its index, or has to open another one. The remaining names would
            // fail too.
            if isDone { collect(ids.dropFirst(Self.namesAtOnce)) }
        }
    }

    func collect(_ id: EntryID, _ index: CacheIndex) throws(DatabaseFault) {
        guard try !index.contains(id) else { return }
        // A writer holds the lock of its body until the row exists. Between the first query and our lock it may have
        // inserted the row and released the lock, so the index is asked again. If the index has moved, the row may be
        // in the new one.
        guard let body = UnusedBody(folder.body(id)), try !index.contains(id), !index.database.hasMoved else { return }
        body.remove()
    }
}
