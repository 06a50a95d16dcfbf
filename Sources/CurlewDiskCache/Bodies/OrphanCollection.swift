/// Removes the files of bodies that have no entry: what killed processes have left, and what a damaged index knew.
///
/// It goes through the folder in the background, a few names at a time, between which the lane has room for other work.
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
            // A lane that cannot reach its index, or has to open another one, has no answer for the other names either.
            if isDone { collect(ids.dropFirst(Self.namesAtOnce)) }
        }
    }

    func collect(_ id: EntryID, _ index: CacheIndex) throws(DatabaseFault) {
        guard try !index.contains(id) else { return }
        // The writer of a body holds its lock until the entry is there. Where it has ended between the two questions, the
        // answer to the first one is old. Where the index has moved the entry may stand in the new one.
        guard let body = UnusedBody(folder.body(id)), try !index.contains(id), !index.database.hasMoved else { return }
        body.remove()
    }
}
