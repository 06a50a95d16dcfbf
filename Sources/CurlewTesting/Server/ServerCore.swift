internal import CurlewCore
internal import CurlewLocks
internal import Glibc

/// The state that the server's thread shares with callers.
final class ServerCore: Sendable {
    let configuration: TestServer.Configuration
    let port: Int
    var isSecure: Bool { identity != nil }
    let router = Router()
    let recorder: Recorder
    let mailbox: Mailbox
    /// The certificate and key; `nil` without TLS.
    let identity: ServerIdentity?

    init(
        configuration: TestServer.Configuration, port: Int, identity: ServerIdentity?
    ) throws(SystemError) {
        self.configuration = configuration
        self.port = port
        self.identity = identity
        recorder = Recorder(requestLimit: configuration.recordLimit, byteLimit: configuration.recordByteLimit)
        mailbox = try Mailbox()
    }

    /// Returns how to respond to `Expect: 100-continue`; `nil` if the request has no such field.
    func expectation(of request: TestServer.Request, _ chosen: TestServer.Response?) -> TestServer.Expectation? {
        guard ASCII.equalsIgnoringCase(request.headers["Expect"] ?? "", "100-continue") else { return nil }
        let named = chosen.map(\.expectation) ?? router.expectation(for: request)
        return named ?? configuration.expectation
    }
}

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

/// The messages to the server's thread, and the pipe that wakes it.
final class Mailbox: Sendable {
    enum Message: Sendable {
        case stop
        case gateOpened(connection: Int, stream: UInt32)
        case closeConnections
    }

    private struct State {
        var messages: [Message] = []
        var isOpen = true
    }

    let readEnd: Int32
    private let writeEnd: Int32
    private let state = Lock(State())

    init() throws(SystemError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw SystemError("pipe") }
        for end in ends { Sockets.makePrivate(end) }
        readEnd = ends[0]
        writeEnd = ends[1]
    }

    func post(_ message: Message) {
        state.withLock { state in
            guard state.isOpen else { return }
            state.messages.append(message)
            var byte: UInt8 = 1
            // The write happens under the lock. Otherwise `close` could run before it, the descriptor's number could be
            // reused, and the byte would be written to an unrelated socket.
            _ = write(writeEnd, &byte, 1)
        }
    }

    func take() -> [Message] {
        var bytes = [UInt8](repeating: 0, count: 256)
        while read(readEnd, &bytes, bytes.count) > 0 {}
        return state.withLock { state in
            defer { state.messages = [] }
            return state.messages
        }
    }

    func close() {
        state.withLock { state in
            guard state.isOpen else { return }
            state.isOpen = false
            state.messages = []
            _ = Glibc.close(readEnd)
            _ = Glibc.close(writeEnd)
        }
    }
}
