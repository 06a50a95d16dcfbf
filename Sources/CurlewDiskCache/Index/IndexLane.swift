internal import CurlewLocks

/// A lane with a connection to the index of its own.
///
/// The connection is opened when it is first needed, and again where the index is not the one of its name any more. A damaged
/// index is replaced by an empty one, by whichever lane or process meets the damage first.
final class IndexLane: Sendable {
    private let lane: Lane
    private let connection: IndexConnection

    init(_ name: String, _ folder: CacheFolder, _ faults: FaultCounts, lockPatience: Duration) {
        lane = Lane(name)
        connection = IndexConnection(folder, faults, lockPatience: lockPatience)
    }

    /// Opens the connection and works on it in the calling thread, before the lane has any work.
    func open<R>(_ work: (CacheIndex) throws(DatabaseFault) -> R) throws(SystemFault) -> R {
        try connection.open()
        do throws(DatabaseFault) {
            return try connection.run(work).get()
        } catch {
            throw SystemFault(error)
        }
    }

    /// Calls `work` on the lane each time that the connection was opened anew. Before the lane has any work.
    func whenReopened(_ work: @escaping @Sendable () -> Void) { connection.reopened = work }

    /// Runs work on the index, a second time where the index turns out to be damaged and is replaced.
    func run<R: Sendable>(
        isolation: isolated (any Actor)? = #isolation,
        _ work: @escaping @Sendable (CacheIndex) throws(DatabaseFault) -> R
    ) async -> Result<R, DatabaseFault> {
        await lane.run { [connection] in connection.run(work) }
    }

    /// Runs work that no caller waits for. It makes nothing anew, least of all a directory that was removed since: it is left out
    /// where the index is not the one of its name any more. `completion` learns whether it was done.
    func enqueue(
        _ work: @escaping @Sendable (CacheIndex) throws(DatabaseFault) -> Void,
        completion: @escaping @Sendable (Bool) -> Void = { _ in }
    ) {
        lane.enqueue { [connection] in completion((try? connection.runIfOpen(work).get()) != nil) }
    }

    /// A turn of the lane for work that uses the index by `runInTurn`.
    func enqueueTurn(_ work: @escaping @Sendable () -> Void) { lane.enqueue(work) }

    /// Runs work on the index, within a turn of this lane.
    func runInTurn<R>(_ work: (CacheIndex) throws(DatabaseFault) -> R) -> Result<R, DatabaseFault> {
        connection.run(work)
    }

    /// Begins anew with an empty index, and without the bodies of the old one.
    func clear(isolation: isolated (any Actor)? = #isolation) async -> Bool {
        await lane.run { [connection] in connection.clear() }
    }
}

// SAFETY: used on one lane only, and by `open` before that has any work.
private final class IndexConnection: @unchecked Sendable {
    private let folder: CacheFolder
    private let faults: FaultCounts
    /// How long the folder's lock is waited for.
    private let lockPatience: Duration
    /// The lock was waited for in vain: until it is free the lane asks without waiting, or all that it has to do would
    /// wait one after the other.
    private var isLockedOut = false
    private var index: CacheIndex?
    /// Learns of an opening for work, other than the first one and that after a clearing.
    var reopened: @Sendable () -> Void = {}

    init(_ folder: CacheFolder, _ faults: FaultCounts, lockPatience: Duration) {
        self.folder = folder
        self.faults = faults
        self.lockPatience = lockPatience
    }

    private func locked<R>(_ work: () throws(SystemFault) -> R) throws(SystemFault) -> R {
        do throws(SystemFault) {
            let result = try folder.locked(patience: isLockedOut ? .zero : lockPatience) { () throws(SystemFault) in
                isLockedOut = false
                return try work()
            }
            return result
        } catch {
            if error.isLockedOut, !isLockedOut {
                isLockedOut = true
                faults.report(folder, error.text)
            }
            throw error
        }
    }

    func open() throws(SystemFault) {
        try folder.make()
        index = try locked { () throws(SystemFault) in
            do throws(SystemFault) {
                return try CacheIndex(folder, patience: min(.seconds(2), lockPatience))
            } catch {
                guard error.isDamage else { throw error }
                faults.countRebuilt(folder, error.text)
                removeIndex()
                return try CacheIndex(folder, patience: min(.seconds(2), lockPatience))
            }
        }
    }

    func run<R>(_ work: (CacheIndex) throws(DatabaseFault) -> R) -> Result<R, DatabaseFault> {
        Result { () throws(DatabaseFault) in try run(work, on: current()) }
    }

    func runIfOpen<R>(_ work: (CacheIndex) throws(DatabaseFault) -> R) -> Result<R, DatabaseFault> {
        guard let index, !index.database.hasMoved else { return .failure(.unreachable) }
        return Result { () throws(DatabaseFault) in try run(work, on: index) }
    }

    private func run<R>(
        _ work: (CacheIndex) throws(DatabaseFault) -> R,
        on index: CacheIndex
    ) throws(DatabaseFault) -> R {
        do throws(DatabaseFault) {
            return try work(index)
        } catch {
            // SQLite begins no change of an index that has moved.
            guard error.isDamage || index.database.hasMoved else { throw error }
            try replace(because: error)
            return try work(current())
        }
    }

    func clear() -> Bool {
        // The directory may have been removed: then there is nothing to clear, and room for a lock.
        guard (try? folder.make()) != nil else { return false }
        // Both while the folder is locked: bodies of an index that another process begins now are out of reach.
        let removed: Void? = try? locked { () throws(SystemFault) in
            removeIndex()
            for id in folder.bodyIDs() { UnusedBody(folder.body(id))?.remove() }
        }
        index = nil
        return removed != nil && (try? open()) != nil
    }

    /// Removes the index, with the folder locked, between two changes of other connections.
    ///
    /// SQLite asks whether its file has moved, and then opens the journal by name. If the index were replaced between the
    /// two, that journal would be one of the new index, and pages of the old one would be rolled back into it. A connection
    /// that waits for the lock on changes here finds afterwards that its file has moved. An index that is too damaged to
    /// be locked cannot be changed either. One whose writer was stopped is removed after the patience of a statement.
    private func removeIndex() {
        var database = index?.database
        // A plain connection, because a damaged index, or one of another version, cannot be opened as a store's.
        if database?.hasMoved != false {
            database = try? Database(path: folder.index, patience: min(.seconds(2), lockPatience))
        }
        try? database?.execute("PRAGMA mmap_size = 0; BEGIN IMMEDIATE;")
        // The connection holds the lock until the files are gone.
        withExtendedLifetime(database) { folder.removeIndex() }
        index = nil
    }

    private func current() throws(DatabaseFault) -> CacheIndex {
        if let index, !index.database.hasMoved { return index }
        index = nil
        do throws(SystemFault) {
            try open()
        } catch {
            throw DatabaseFault.unreachable
        }
        guard let index else { throw DatabaseFault.unreachable }
        reopened()
        return index
    }

    private func replace(because fault: DatabaseFault) throws(DatabaseFault) {
        guard let damaged = index else { throw fault }
        let replaced: Void? = try? locked { () throws(SystemFault) in
            // Another lane or process may have done it.
            guard !damaged.database.hasMoved else { return }
            faults.countRebuilt(folder, fault.description)
            removeIndex()
        }
        index = nil
        guard replaced != nil else { throw fault }
    }
}
