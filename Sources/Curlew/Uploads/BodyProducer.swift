internal import CurlewCore
internal import Foundation

/// Makes the bytes of a body, one buffer at a time. It may block: it is never asked on the transport's thread.
protocol BodyProducer {
    /// Whether `restart` works more than once.
    var isReplayable: Bool { get }

    /// To the first byte.
    mutating func restart() throws(CurlewError)

    /// Fills the front of `buffer`; 0 is the end.
    mutating func produce(into buffer: UnsafeMutableRawBufferPointer) throws(CurlewError) -> Int

    /// Closes what is open.
    mutating func stop()
}

/// How fast a body may be sent: packets with a pause after each.
struct BodyThrottle: Sendable, Hashable {
    let packetSize: Int
    let delay: TimeInterval
}
