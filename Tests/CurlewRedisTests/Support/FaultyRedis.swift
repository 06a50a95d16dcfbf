import CurlewLocks
import Foundation
import Glibc

/// A relay between a store and its server. It delays or loses the server's answers, or sends its own.
final class FaultyRedis: Sendable {
    enum Mode: Sendable {
        /// The server's answers are delayed.
        case delay(Duration)
        /// Every question gets these bytes as its answer.
        case answer(Data)
        case silence
        /// The questions get these answers in order. The last answer is repeated.
        case answers([Data])
        /// The next answers of the server, as many as the value says, are lost with their connections.
        case cut(Int)
    }

    private let listener: LoopbackListener
    private let mode: Lock<Mode>
    private let received: Lock<[Data]>

    /// The bytes that clients have sent, in the pieces in which they were read.
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
        // Without a server, the connection is closed, as a stopped server's would be.
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

    /// Returns the mode for the next answer, and removes that answer from the mode.
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
