internal import CurlewLocks
internal import Glibc

/// The thread that a `ServerLoop` runs on.
final class ServerThread: Sendable {
    private let core: ServerCore
    /// nil once it is joined or left to itself.
    private let thread: Lock<pthread_t?>

    private final class Start {
        let core: ServerCore
        let listener: Int32

        init(core: ServerCore, listener: Int32) {
            self.core = core
            self.listener = listener
        }
    }

    init(core: ServerCore, listener: Int32) throws(SystemError) {
        self.core = core
        // SAFETY: retained here, released once: by the new thread, or below when there is none.
        let start = Unmanaged.passRetained(Start(core: core, listener: listener))
        var made = pthread_t()
        let code = pthread_create(
            &made,
            nil,
            { argument in
                guard let argument else { return nil }
                // SAFETY: takes over the reference that `init` retained.
                let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
                ServerLoop(core: start.core, listener: start.listener).run()
                return nil
            },
            start.toOpaque()
        )
        guard code == 0 else {
            start.release()
            errno = code
            throw SystemError("pthread_create")
        }
        thread = Lock(made)
    }

    /// Ends the loop and returns when the thread has gone. On that thread itself it only asks it to end.
    func stop() {
        core.mailbox.post(.stop)
        let mine = thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
        guard let mine else { return }
        if pthread_equal(mine, pthread_self()) != 0 {
            pthread_detach(mine)
        } else {
            pthread_join(mine, nil)
        }
    }
}
