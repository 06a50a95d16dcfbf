public import CurlewCore
public import Foundation

/// Produces a body from an `InputStream`, once.
struct InputStreamProducer: BodyProducer {
    private let stream: InputStream
    private var isOpened = false
    private var isSpent = false

    init(_ stream: sending InputStream) { self.stream = stream }

    var isReplayable: Bool { false }

    mutating func restart() throws(CurlewError) {
        // A stream that has not been read is still at its first byte.
        guard !isSpent else { throw Self.spent }
    }

    mutating func produce(into buffer: UnsafeMutableRawBufferPointer) throws(CurlewError) -> Int {
        if !isOpened {
            isOpened = true
            if stream.streamStatus == .notOpen { stream.open() }
        }
        isSpent = true
        guard let address = buffer.baseAddress else { return 0 }
        let count = stream.read(address.assumingMemoryBound(to: UInt8.self), maxLength: buffer.count)
        if count >= 0 { return count }
        // Foundation on Linux crashes when a stream without an error is asked for its error.
        let error = stream.streamStatus == .error ? stream.streamError : nil
        throw CurlewError(.bodyUnavailable, phase: .send, reason: "The input stream failed.", underlying: error)
    }

    mutating func stop() {
        if isOpened { stream.close() }
    }

    private static let spent = CurlewError(
        .bodyUnavailable,
        phase: .send,
        reason: "The body comes from an input stream that has been read already."
    )
}

extension BodySource {
    /// Creates a body from an input stream. It is read once, on a separate queue.
    public static func inputStream(_ stream: sending InputStream, length: Int64? = nil) -> BodySource {
        .stream(BodyPump(InputStreamProducer(stream)), length: length)
    }
}
