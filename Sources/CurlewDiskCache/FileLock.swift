internal import Glibc

/// The `flock` lock of an open file. It belongs to the open descriptor: a second `open` of the file competes for it,
/// even in the same process.
enum FileLock {
    /// Takes the lock, waiting up to `patience` for its holder.
    ///
    /// `flock` either waits without a limit or not at all, so this function polls.
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

    /// Releases the lock. Call it before closing the descriptor: a child process that is being started has a copy of
    /// the descriptor until it runs its program, and the copy would keep the lock.
    static func release(_ descriptor: Int32) { flock(descriptor, LOCK_UN) }
}
