internal import CurlewCore

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

extension KeepAlive {
    /// Makes the system probe idle connections on a new TCP socket. Best effort: if the system rejects a value, its
    /// default remains.
    func apply(to socket: Int32) {
        set(SOL_SOCKET, SO_KEEPALIVE, 1, on: socket)
        let level = Int32(IPPROTO_TCP)
        // Linux accepts at most 32767 s and 127 probes.
        set(level, TCP_KEEPIDLE, seconds(idle), on: socket)
        set(level, TCP_KEEPINTVL, seconds(interval), on: socket)
        set(level, TCP_KEEPCNT, Int32(min(max(1, probes), 127)), on: socket)
    }

    private func seconds(_ duration: Duration) -> Int32 { Int32(min(max(1, duration.components.seconds), 32_767)) }

    private func set(_ level: Int32, _ option: Int32, _ value: Int32, on socket: Int32) {
        var value = value
        setsockopt(socket, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }
}
