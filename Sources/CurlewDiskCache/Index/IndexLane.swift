internal import CurlewLocks
internal import Dispatch

/// A lane with a separate connection to the index.
///
/// The connection is opened when it is first needed, and again if the path names another index. The first lane or
/// process that detects damage replaces the index by an empty one.
final class IndexLane: Sendable {
    private let lane: Lane
    private let connection: IndexConnection

    init(_ name: String, _ folder: CacheFolder, _ faults: FaultCounts, lockPatience: Duration) {
        lane = Lane(name)
        connection = IndexConnection(folder, faults, lockPatience: lockPatience)
    }

    /// Opens the connection and runs `work` on the calling thread. Call it before the lane has any work.
    func open<R>(_ work: (CacheIndex) throws(DatabaseFault) -> R) throws(SystemFault) -> R {
        try connection.open()
        do throws(DatabaseFault) {
            return try connection.run(work).get()
        } catch {
            throw SystemFault(error)
        }
    }

    /// Sets a function that is called on the lane each time the connection was opened again. Call it before the lane
    /// has any work.
    func whenReopened(_ work: @escaping @Sendable () -> Void) { connection.reopened = work }

    /// Runs work on the index. If the index is damaged or was replaced, runs the work again on the new one.
    func run<R: Sendable>(
        _ work: @escaping @Sendable (CacheIndex) throws(DatabaseFault) -> R
    ) async -> Result<R, DatabaseFault> {
        await lane.run { [connection] in connection.run(work) }
    }

    /// Runs work that no caller waits for. `completion` is told whether it succeeded.
    ///
    /// The work is skipped if the path names another index or none: background work must not recreate a directory that
    /// was removed.
    func enqueue(
        _ work: @escaping @Sendable (CacheIndex) throws(DatabaseFault) -> Void,
        completion: @escaping @Sendable (Bool) -> Void = { _ in }
    ) {
        lane.enqueue { [connection] in completion((try? connection.runIfOpen(work).get()) != nil) }
    }

    /// Runs `work` on the lane. It can use the index with `runInTurn(_:)`.
    func enqueueTurn(_ work: @escaping @Sendable () -> Void) { lane.enqueue(work) }

    /// Runs work on the index on the calling thread, which must be in a turn of this lane.
    func runInTurn<R>(_ work: (CacheIndex) throws(DatabaseFault) -> R) -> Result<R, DatabaseFault> {
        connection.run(work)
    }

    /// Replaces the index by an empty one and removes the bodies. Returns false if that failed.
    func clear() async -> Bool {
        await lane.run { [connection] in connection.clear() }
    }
}

// SAFETY: used on one lane only, and by `open` before the lane has any work.
private final class IndexConnection: @unchecked Sendable {
    private let folder: CacheFolder
    private let faults: FaultCounts
    /// The time to wait for the folder's lock.
    private let lockPatience: Duration
    /// Whether the last wait for the lock timed out. Until the lock is free the lane tries it without waiting:
    /// otherwise all waiting work would time out, one after another.
    private var isLockedOut = false
    private var index: CacheIndex?
    /// Called after the connection was opened for work, except for the first opening and the opening after a clearing.
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
            // SQLite begins no change of an index that has moved, so running the work again does not change it twice.
            guard error.isDamage || index.database.hasMoved else { throw error }
            try replace(because: error)
            return try work(current())
        }
    }

    func clear() -> Bool {
        // Creates the directory if it was removed: the lock file needs it.
        guard (try? folder.make()) != nil else { return false }
        // Both happen while the folder is locked: no other process can create an index, and bodies for it, in between.
        let removed: Void? = try? locked { () throws(SystemFault) in
            removeIndex()
            for id in folder.bodyIDs() { UnusedBody(folder.body(id))?.remove() }
        }
        index = nil
        return removed != nil && (try? open()) != nil
    }

    /// Removes the index. Call it with the folder locked; also locks the database, so that no other connection is in
    /// the middle of a change.
    ///
    /// SQLite checks whether its file has moved, and then opens the journal by name. If the index were replaced between
    /// these steps, the connection would open the journal of the new index and write pages of the old one to it, and a
    /// rollback would copy them into the new index. A connection that waits for the lock taken here finds afterwards
    /// that its file has moved.
    ///
    /// If the index is too damaged to be locked, it cannot be changed either. If a writer was stopped in the middle of
    /// a change, the index is removed after the patience of a statement.
    private func removeIndex() {
        var database = index?.database
        // `CacheIndex` cannot open an index that is damaged or has another version. `Database` can.
        if database?.hasMoved != false {
            database = try? Database(path: folder.index, patience: min(.seconds(2), lockPatience))
        }
        try? database?.execute("PRAGMA mmap_size = 0; BEGIN IMMEDIATE;")
        // The connection holds the database lock until the files are removed.
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
            // Another lane or process may already have replaced the index.
            guard !damaged.database.hasMoved else { return }
            faults.countRebuilt(folder, fault.description)
            removeIndex()
        }
        index = nil
        guard replaced != nil else { throw fault }
    }
}

/// A serial queue for work that blocks (files, SQLite), away from the transport's loop and Swift's cooperative threads.
struct Lane: Sendable {
    private let queue: DispatchQueue
    private let handoff = Handoff()

    init(_ name: String) { queue = DispatchQueue(label: "curlew.diskcache." + name) }

    /// Runs `work` after all work that was added before. Returns at once.
    func enqueue(_ work: @escaping @Sendable () -> Void) { handoff(to: queue, work) }

    /// Runs `work` on the lane and waits for it without blocking a thread. Cancellation has no effect: half a file
    /// operation is useless.
    func run<R: Sendable>(
        _ work: @escaping @Sendable () -> R
    ) async -> R {
        await handoff.run(on: queue, work)
    }

    // MARK: Lanes for bodies

    // A fixed number of lanes for the process, even if many bodies are read and written.
    private static let bodies = (1...4).map { Lane("bodies.\($0)") }
    private static let turn = Lock(0)

    /// The next of the lanes for bodies, in rotation.
    static func nextForBodies() -> Lane {
        bodies[
            turn.withLock { turn -> Int in
                turn = (turn + 1) % bodies.count
                return turn
            }]
    }
}
