internal import CurlewLocks
internal import Glibc

/// The thread that runs a `ServerLoop`.
final class ServerThread: Sendable {
    private let core: ServerCore
    /// `nil` once the thread was joined or detached.
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
        // SAFETY: retained here and released once: by the new thread, or below if no thread was created.
        let start = Unmanaged.passRetained(Start(core: core, listener: listener))
        var made = pthread_t()
        let code = pthread_create(
            &made,
            nil,
            { argument in
                guard let argument else { return nil }
                // SAFETY: consumes the reference that `init` retained.
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

    /// Stops the loop and waits for the thread to end. If called on that thread, it detaches the thread and does not
    /// wait.
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
