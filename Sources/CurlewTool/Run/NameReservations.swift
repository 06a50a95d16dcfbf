internal import CurlewLocks

/// The names that downloads which run at the same time have chosen: none of these files is there yet.
final class NameReservations: Sendable {
    private let owners = Lock<[String: ObjectIdentifier]>([:])

    /// The first free name made of `name`, which no other job gets. A job that asks again, for another try, gets the same.
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
