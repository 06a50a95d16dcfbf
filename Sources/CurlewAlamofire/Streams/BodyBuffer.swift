internal import Curlew
internal import Foundation

/// Passes chunks of a body from the request, which adds them, to a thread that waits for them. Unread chunks fill a
/// bounded backlog, which stops the sender.
// SAFETY: mutable properties are accessed only while `condition` is locked; the others are constant.
final class BodyBuffer: @unchecked Sendable {
    private let condition = NSCondition()
    private let backlog: StreamBacklog
    private var chunks: [Data] = []
    /// The number of bytes of the first chunk that have been read.
    private var offset = 0
    private var isComplete = false
    private var failure: CurlewError?
    private var state = Stream.Status.notOpen

    init(backlog: StreamBacklog) { self.backlog = backlog }

    var status: Stream.Status { condition.withLock { state } }

    var error: CurlewError? { condition.withLock { failure } }

    /// Whether a read may return bytes.
    var hasBytes: Bool { condition.withLock { state == .open && (!chunks.isEmpty || !isComplete) } }

    /// Adds a chunk.
    func append(_ chunk: Data) {
        guard !chunk.isEmpty else { return backlog.taken() }
        condition.withLock {
            guard state != .closed else { return }
            chunks.append(chunk)
            condition.broadcast()
        }
    }

    /// Ends the body. No chunk may be added after this.
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

    /// Waits for bytes. Returns the number of bytes read, 0 at the end, or -1 if the stream is not open or the body has
    /// failed.
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
