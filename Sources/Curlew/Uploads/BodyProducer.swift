internal import CurlewCore
internal import Foundation

/// Produces the bytes of a body, one buffer at a time. It may block, so it is never called on the transport's thread.
protocol BodyProducer {
    /// Whether `restart` can succeed after bytes were produced.
    var isReplayable: Bool { get }

    /// Returns to the first byte.
    mutating func restart() throws(CurlewError)

    /// Fills the front of `buffer` and returns the number of bytes. 0 is the end.
    mutating func produce(into buffer: UnsafeMutableRawBufferPointer) throws(CurlewError) -> Int

    /// Closes open files and streams.
    mutating func stop()
}

/// Limits the speed of a body: after each packet there is a pause.
struct BodyThrottle: Sendable, Hashable {
    let packetSize: Int
    let delay: TimeInterval
}
