internal import CurlewLocks

/// The names chosen by downloads that run at the same time. Their files need not exist yet.
final class NameReservations: Sendable {
    private let owners = Lock<[String: ObjectIdentifier]>([:])

    /// Reserves the first free name derived from `name` for this job. A job that asks again, for another attempt, gets
    /// its name again.
    func reserve(_ name: String, for job: DownloadJob, isTaken: (String) -> Bool) -> String {
        let owner = ObjectIdentifier(job)
        return owners.withLock { owners in
            let free = DownloadName.free(name) { name in
                isTaken(name) || owners[name].map { $0 != owner } ?? false
            }
            owners[free] = owner
            return free
        }
    }
}
