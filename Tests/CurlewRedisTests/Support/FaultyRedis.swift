import CurlewLocks
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
        /// Questions get these answers, one after the other; the last one stays.
        case answers([Data])
        /// The server's answers are lost with their connections, so many times.
        case cut(Int)
    }

    private let listener: LoopbackListener
    private let mode: Lock<Mode>
    private let received: Lock<[Data]>

    /// Everything that clients have sent, in pieces.
    var questions: [Data] { received.withLock { $0 } }

    init(server: SocketFile? = nil, _ mode: Mode) throws {
        let (listener, mode, received) = (try LoopbackListener(), Lock(mode), Lock<[Data]>([]))
        (self.listener, self.mode, self.received) = (listener, mode, received)
        Thread.detachNewThread {
            while let client = listener.accept() {
                Thread.detachNewThread { Self.serve(client, server, mode, received) }
            }
        }
    }

    deinit { listener.socket.end() }

    func url(_ login: String = "") -> String { "redis://\(login)127.0.0.1:\(listener.port)" }

    func set(_ mode: Mode) { self.mode.withLock { $0 = mode } }

    private static func serve(
        _ client: Socket,
        _ server: SocketFile?,
        _ mode: Lock<Mode>,
        _ received: Lock<[Data]>
    ) {
        let upstream = server?.connection()
        // A server that is gone closes its connections.
        if server != nil, upstream == nil { return client.end() }
        if let upstream {
            Thread.detachNewThread {
                while let bytes = upstream.read() {
                    let now = mode.withLock { $0.take() }
                    if case .cut = now { break }
                    if case .delay(let delay) = now, delay > .zero { usleep(UInt32(delay / .microseconds(1))) }
                    guard client.write(bytes) else { break }
                }
                client.end()
            }
        }
        while let bytes = client.read() {
            received.withLock { $0.append(bytes) }
            switch mode.withLock({ $0.isPassing ? $0 : $0.take() }) {
            case .delay, .cut: _ = upstream?.write(bytes)
            case .answer(let answer): _ = client.write(answer)
            case .answers(let answers): _ = client.write(answers.first ?? Data())
            case .silence: break
            }
        }
        upstream?.end()
    }
}

extension FaultyRedis.Mode {
    fileprivate var isPassing: Bool {
        switch self {
        case .delay, .cut: true
        case .answer, .answers, .silence: false
        }
    }

    /// What is done now; the rest stays.
    fileprivate mutating func take() -> Self {
        let now = self
        switch now {
        case .answers(let answers) where answers.count > 1: self = .answers(Array(answers.dropFirst()))
        case .cut(let count): self = count > 1 ? .cut(count - 1) : .delay(.zero)
        default: break
        }
        return now
    }
}
