import Foundation
import Glibc

/// A listening socket that takes no connection: its queue is full before the test begins.
final class DeafListener {
    let port: Int
    private let listener: Int32
    private var fillers: [Int32] = []

    struct Failure: Error {}

    init() throws {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = listener
        let code = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                guard bind(listener, pointer, length) == 0, listen(listener, 0) == 0 else { return Int32(-1) }
                return getsockname(listener, pointer, &length)
            }
        }
        guard code == 0 else { throw Failure() }
        port = Int(UInt16(bigEndian: address.sin_port))
        for _ in 0..<4 {
            let filler = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
            withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = connect(filler, $0, length) }
            }
            fillers.append(filler)
        }
    }

    func close() {
        for fd in fillers + [listener] { _ = Glibc.close(fd) }
    }
}
