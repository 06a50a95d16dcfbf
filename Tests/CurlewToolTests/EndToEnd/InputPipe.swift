import Foundation
import Glibc

extension Pipe {
    /// Writes the tool's input. Throws (`EPIPE`) if the tool has already ended; the SIGPIPE of such a write is blocked,
    /// because it would end the process that runs all tests.
    func send(_ data: Data) throws {
        var broken = sigset_t()
        var before = sigset_t()
        sigemptyset(&broken)
        sigaddset(&broken, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &broken, &before)
        defer {
            // The kernel sends SIGPIPE to the thread that wrote. A pending one is consumed before the mask is restored.
            var noTime = timespec()
            sigtimedwait(&broken, nil, &noTime)
            pthread_sigmask(SIG_SETMASK, &before, nil)
        }
        try fileHandleForWriting.write(contentsOf: data)
    }
}
