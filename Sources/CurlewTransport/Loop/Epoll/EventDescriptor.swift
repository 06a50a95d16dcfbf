internal import CCurl
internal import Glibc

/// An eventfd that is never read: epoll watches it for its edges, and every signal is one.
final class EventDescriptor: WakeUp {
    let fd: Int32

    /// nil when the process has no descriptors left.
    init?() {
        fd = curlew_wakeup_create()
        if fd < 0 { return nil }
    }

    deinit { close(fd) }

    func signal() { curlew_wakeup_signal(fd) }
}
