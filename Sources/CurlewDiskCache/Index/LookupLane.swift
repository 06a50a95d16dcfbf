internal import CurlewCore
internal import CurlewLocks

/// Looks up keys on a separate lane. Lookups that wait together run in one turn and one transaction, because changing
/// threads and locking the index cost more than the lookup.
final class LookupLane: Sendable {
    private typealias Found = Result<[OpenedRow], DatabaseFault>

    private struct Lookup: Sendable {
        let key: CacheKey
        let answer: CheckedContinuation<Found, Never>
    }

    let index: IndexLane
    private let folder: CacheFolder
    private let waiting = Lock<[Lookup]>([])

    init(_ name: String, _ folder: CacheFolder, _ counts: FaultCounts, lockPatience: Duration) {
        index = IndexLane(name, folder, counts, lockPatience: lockPatience)
        self.folder = folder
    }

    /// The rows of a key, read after this call began.
    func rows(
        of key: CacheKey,
    ) async -> Result<[OpenedRow], DatabaseFault> {
        await withCheckedContinuation { answer in
            let isFirst = waiting.withLock { waiting in
                waiting.append(Lookup(key: key, answer: answer))
                return waiting.count == 1
            }
            if isFirst { index.enqueueTurn { [self] in answerAll() } }
        }
    }

    /// Answers all waiting lookups. Runs on the lane.
    private func answerAll() {
        let lookups = waiting.withLock { waiting in exchange(&waiting, with: []) }
        let folder = folder
        let found = index.runInTurn { (index) throws(DatabaseFault) -> [[OpenedRow]] in
            try index.reading(isTransaction: lookups.count > 1) { () throws(DatabaseFault) in
                var found: [[OpenedRow]] = []
                for lookup in lookups {
                    let rows = try index.rows(of: lookup.key)
                    found.append(rows.map { OpenedRow($0, folder, isAlone: rows.count == 1) })
                }
                return found
            }
        }
        for (number, lookup) in lookups.enumerated() { lookup.answer.resume(returning: found.map { $0[number] }) }
    }
}
