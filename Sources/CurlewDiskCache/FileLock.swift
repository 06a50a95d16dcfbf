internal import Glibc

/// The lock on an open file, which goes with its descriptor. Each opening of a file is a holder of its own, also within a process.
enum FileLock {
    /// Takes the lock, and waits for another holder's end for as long as `patience`.
    ///
    /// `flock` waits without a limit or not at all, so it is asked again and again.
    static func take(_ descriptor: Int32, patience: Duration) throws(SystemFault) {
        var deadline: ContinuousClock.Instant?
        var pause: UInt32 = 500
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            let code = errno
            guard code == EWOULDBLOCK || code == EINTR else { throw SystemFault(errno: code) }
            let (now, end) = (ContinuousClock.now, deadline ?? .now.advanced(by: patience))
            guard now < end else { throw .lockedOut(patience) }
            deadline = end
            usleep(pause)
            pause = min(pause * 2, 20_000)
        }
    }

    /// Gives the lock up, before its descriptor is closed. A process that is being started has a copy of the descriptor until it
    /// runs its program, and the copy would keep the lock.
    static func release(_ descriptor: Int32) { flock(descriptor, LOCK_UN) }
}
