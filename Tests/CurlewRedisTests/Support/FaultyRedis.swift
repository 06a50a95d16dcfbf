import CurlewLocks
import Dispatch
import Foundation
import Glibc

/// Stands between a store and its server: passes answers on after a delay, or answers something else.
final class FaultyRedis: Sendable {
    enum Mode: Sendable {
        /// What comes from the server comes so much later.
        case delay(Duration)
        /// Each question gets these bytes.
        case answer(Data)
        case silence
    }

    private let listener: LoopbackListener
    private let server: UInt16
    private let mode: Lock<Mode>

    init(server: UInt16 = 0, _ mode: Mode) throws {
        listener = try LoopbackListener()
        self.server = server
        self.mode = Lock(mode)
        let (listener, mode) = (listener.descriptor, self.mode)
        Thread.detachNewThread {
            while case let client = accept(listener, nil, nil), client >= 0 {
                Thread.detachNewThread { Self.serve(client, server, mode) }
            }
        }
    }

    deinit { shutdown(listener.descriptor, Int32(SHUT_RDWR)) }

    var url: String { "redis://127.0.0.1:\(listener.port)" }

    func set(_ mode: Mode) { self.mode.withLock { $0 = mode } }

    private static func serve(_ client: Int32, _ server: UInt16, _ mode: Lock<Mode>) {
        let upstream = RedisProcess.connect(server)
        if let upstream {
            Thread.detachNewThread {
                while let bytes = read(upstream) {
                    if case .delay(let delay) = mode.withLock({ $0 }), delay > .zero {
                        usleep(UInt32(delay / .microseconds(1)))
                    }
                    guard write(client, bytes) else { break }
                }
                shutdown(client, Int32(SHUT_RDWR))
            }
        }
        while let bytes = read(client) {
            switch mode.withLock({ $0 }) {
            case .delay: if let upstream, !write(upstream, bytes) { break }
            case .answer(let answer): _ = write(client, answer)
            case .silence: break
            }
        }
        if let upstream { shutdown(upstream, Int32(SHUT_RDWR)) }
    }

    private static func read(_ descriptor: Int32) -> Data? {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        return count > 0 ? Data(buffer.prefix(count)) : nil
    }

    private static func write(_ descriptor: Int32, _ data: Data) -> Bool {
        var rest = data
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return false }
            rest = Data(rest.dropFirst(count))
        }
        return true
    }
}
