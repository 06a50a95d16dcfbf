internal import CurlewLocks
internal import Foundation
internal import Glibc

/// Reports when tasks of this system stall because of too little memory, with a trigger in `/proc/pressure/memory`
/// (Documentation/accounting/psi.rst). The kernel wakes the thread; nothing polls.
final class MemoryPressure: Sendable {
    /// 150 ms of stall within one second, the example in the kernel's documentation.
    private static let trigger = "some 150000 1000000"

    private let path: String
    private let stopper = Lock<Int32?>(nil)

    init(path: String = "/proc/pressure/memory") { self.path = path }

    deinit { stop() }

    /// Starts the thread that calls `onPressure`. Returns false if the kernel has no pressure information or does not
    /// let this process use it.
    @discardableResult
    func start(_ onPressure: @escaping @Sendable () -> Void) -> Bool {
        let file = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else { return false }
        let armed = Self.trigger.withCString { write(file, $0, strlen($0) + 1) > 0 }
        var ends: [Int32] = [-1, -1]
        guard armed, socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0
        else {
            close(file)
            return false
        }
        let (stopSignal, writer) = (ends[0], ends[1])
        stopper.withLock { $0 = writer }
        let thread = Thread {
            defer {
                close(file)
                close(stopSignal)
            }
            Self.wait(file: file, stopSignal: stopSignal, onPressure)
        }
        thread.name = "curlew.pressure"
        thread.stackSize = 256 * 1024
        thread.start()
        return true
    }

    func stop() {
        let writer = stopper.withLock { stopper in
            defer { stopper = nil }
            return stopper
        }
        if let writer { close(writer) }
    }

    private static func wait(file: Int32, stopSignal: Int32, _ onPressure: () -> Void) {
        while true {
            var waiting = [
                pollfd(fd: file, events: Int16(POLLPRI), revents: 0),
                pollfd(fd: stopSignal, events: Int16(POLLIN), revents: 0),
            ]
            guard poll(&waiting, 2, -1) >= 0 || errno == EINTR else { return }
            if waiting[1].revents != 0 || waiting[0].revents & Int16(POLLERR) != 0 { return }
            if waiting[0].revents & Int16(POLLPRI) != 0 { onPressure() }
        }
    }
}
