/// Until when every socket that was ready has been told.
///
/// A process may be stopped, or get no processor, between two turns or within a wait. A deadline that passed meanwhile counts only
/// once the sockets were looked at after it: the answer may lie there. One wait tells a limited number of sockets, and the next
/// goes on with the others, so a look over all of them may take several waits.
struct SocketLook {
    /// What was ready at this time has been told.
    private(set) var seenUntil = LoopInstant.unset
    /// When a look began that takes more than one wait.
    private var began = LoopInstant.unset
    /// How many sockets that look has found.
    private var found = 0

    /// A wait is over that began at `start`. It has found `count` sockets, and would have told `most`; not more than `watched` are
    /// watched.
    mutating func waited(from start: LoopInstant, found count: Int, of most: Int, watched: Int) {
        if !began.isSet, count < most {
            seenUntil = start
            return
        }
        if !began.isSet { began = start }
        found += count
        // Where more are ready than one wait tells, for ever, the look still ends: each was told once.
        guard count < most || found >= watched else { return }
        (seenUntil, began, found) = (began, .unset, 0)
    }
}
