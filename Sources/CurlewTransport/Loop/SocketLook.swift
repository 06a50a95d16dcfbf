/// The time up to which every socket that was ready has been reported.
///
/// A process may be stopped, or get no processor, between two turns or within a wait. A deadline that passed meanwhile
/// counts only after the sockets were checked once more, because the response may have arrived. One wait reports a
/// limited number of sockets and the next continues with the others, so a check of all sockets may take several waits.
struct SocketLook {
    /// Every socket that was ready at this time has been reported.
    private(set) var seenUntil = LoopInstant.unset
    /// When a check began that takes more than one wait; unset if none is in progress.
    private var began = LoopInstant.unset
    /// The number of sockets that this check has found.
    private var found = 0

    /// Called after a wait that began at `start` and found `count` of at most `most` sockets, while at most `watched`
    /// were watched.
    mutating func waited(from start: LoopInstant, found count: Int, of most: Int, watched: Int) {
        if !began.isSet, count < most {
            seenUntil = start
            return
        }
        if !began.isSet { began = start }
        found += count
        // Even if more sockets stay ready than one wait reports, the check ends: by then each was reported once.
        guard count < most || found >= watched else { return }
        (seenUntil, began, found) = (began, .unset, 0)
    }
}
