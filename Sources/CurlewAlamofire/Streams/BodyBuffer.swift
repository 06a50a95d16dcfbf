internal import Curlew
internal import Foundation

/// Chunks of a body between the request, which adds them, and a thread that waits for them. What is not read fills a
/// bounded backlog, which stops the sender.
// SAFETY: everything that changes sits behind the condition; the rest is set once.
final class BodyBuffer: @unchecked Sendable {
    private let condition = NSCondition()
    private let backlog: StreamBacklog
    private var chunks: [Data] = []
    /// Of the first chunk so much has been read.
    private var offset = 0
    private var isComplete = false
    private var failure: CurlewError?
    private var state = Stream.Status.notOpen

    init(backlog: StreamBacklog) { self.backlog = backlog }

    var status: Stream.Status { condition.withLock { state } }

    var error: CurlewError? { condition.withLock { failure } }

    /// Whether reading gives bytes, or has to be tried to know.
    var hasBytes: Bool { condition.withLock { state == .open && (!chunks.isEmpty || !isComplete) } }

    /// A chunk has come.
    func append(_ chunk: Data) {
        guard !chunk.isEmpty else { return backlog.taken() }
        condition.withLock {
            guard state != .closed else { return }
            chunks.append(chunk)
            condition.broadcast()
        }
    }

    /// No more chunk comes.
    func complete(_ error: CurlewError?) {
        condition.withLock {
            isComplete = true
            failure = error
            condition.broadcast()
        }
    }

    func open() { condition.withLock { if state == .notOpen { state = .open } } }

    func close() {
        condition.withLock {
            state = .closed
            chunks = []
            condition.broadcast()
        }
        backlog.leave()
    }

    /// Waits for bytes: how many were read, 0 at the end, -1 where there is nothing to read from.
    func read(into buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
        let (count, isEmptied) = condition.withLock { () -> (Int, Bool) in
            while chunks.isEmpty, !isComplete, state == .open { condition.wait() }
            switch state {
            case .open: break
            case .atEnd: return (0, false)
            default: return (-1, false)
            }
            guard let chunk = chunks.first else {
                state = failure == nil ? .atEnd : .error
                return (failure == nil ? 0 : -1, false)
            }
            let count = chunk.dropFirst(offset).copyBytes(to: buffer)
            offset += count
            guard offset == chunk.count else { return (count, false) }
            chunks.removeFirst()
            offset = 0
            return (count, true)
        }
        if isEmptied { backlog.taken() }
        return count
    }
}
