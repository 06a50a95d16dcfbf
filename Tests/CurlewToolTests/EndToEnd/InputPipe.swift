import Foundation
import Glibc

extension Pipe {
    /// Writes what a tool is to read. A tool may have ended before, which is an error of this call (`EPIPE`): the SIGPIPE that
    /// comes with it would end the process of all tests.
    func send(_ data: Data) throws {
        var broken = sigset_t()
        var before = sigset_t()
        sigemptyset(&broken)
        sigaddset(&broken, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &broken, &before)
        defer {
            // SIGPIPE is for the thread that wrote, so it waits here if it came.
            var noTime = timespec()
            sigtimedwait(&broken, nil, &noTime)
            pthread_sigmask(SIG_SETMASK, &before, nil)
        }
        try fileHandleForWriting.write(contentsOf: data)
    }
}
