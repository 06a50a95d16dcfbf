internal import CurlewCore

/// The five timeouts of a transfer: those that run at a moment, and the time at which the first of them expires.
///
/// The current time is passed to each method.
struct TransferClocks {
    enum Stretch {
        /// The transfer waits for a free connection, or for permission to make one.
        case queue
        case connect
        case send
        /// The request has been sent; the head of the response is not complete.
        case firstByte
        case receive
    }

    private let queue: UInt64?
    private let connect: UInt64?
    private let firstByte: UInt64?
    private var idle: UInt64?
    private var total: UInt64?

    private(set) var stretch = Stretch.queue
    private var started = LoopInstant.unset
    private var stretchBegan = LoopInstant.unset
    private var lastByte = LoopInstant.unset
    private var heldSince = LoopInstant.unset

    init(_ timeouts: Timeouts) {
        queue = timeouts.queue?.clampedNanoseconds
        connect = timeouts.connect?.clampedNanoseconds
        firstByte = timeouts.firstByte?.clampedNanoseconds
        idle = timeouts.idle?.clampedNanoseconds
        total = timeouts.total?.clampedNanoseconds
    }

    /// Returns a copy with another total timeout, the only one that differs between requests of one kind.
    func limited(total: Duration?) -> TransferClocks {
        var limited = self
        limited.total = total?.clampedNanoseconds
        return limited
    }

    // MARK: Events

    mutating func transferStarted(at now: LoopInstant) { started = now }

    /// Called when the transfer may have to wait for a connection, in line or within libcurl. Only the first call
    /// counts, until `startOver`.
    mutating func queued(at now: LoopInstant) {
        if !stretchBegan.isSet { stretchBegan = now }
    }

    /// Called for the first resolver, socket or prerequest callback: libcurl makes a connection or has found one.
    mutating func connectionStarted(at now: LoopInstant) {
        if case .queue = stretch { enter(.connect, now) }
    }

    /// Returns to the queue: the transfer has given up its connection and will be sent again. Pass `isHeld: false` if
    /// the pause ended with the connection.
    mutating func startOver(isHeld: Bool) {
        stretch = .queue
        stretchBegan = .unset
        if !isHeld { heldSince = .unset }
    }

    mutating func sendingStarted(at now: LoopInstant) { enter(.send, now) }

    mutating func requestSent(at now: LoopInstant) { enter(.firstByte, now) }

    mutating func receivingStarted(at now: LoopInstant) {
        switch stretch {
        case .receive: lastByte = now
        case .queue, .connect, .send, .firstByte: enter(.receive, now)
        }
    }

    mutating func byteMoved(at now: LoopInstant) { lastByte = now }

    /// Called when the whole response has arrived before the body was sent. A server that does not read on by then
    /// (HTTP/2 without a window) will not do so later, so the idle timeout becomes short.
    mutating func responseCompleted() { idle = min(idle ?? .max, Self.patience) }

    private static let patience: UInt64 = 1_000_000_000

    /// Called when a connection that was made in advance is up. It is given to others after `length`.
    mutating func settlingStarted(for length: UInt64, at now: LoopInstant) {
        idle = length
        enter(.receive, now)
    }

    mutating func held(at now: LoopInstant) {
        if !heldSince.isSet { heldSince = now }
    }

    mutating func released(at now: LoopInstant) {
        guard heldSince.isSet else { return }
        let began = heldSince
        let pause = now.nanoseconds(since: began)
        heldSince = .unset
        switch stretch {
        case .queue: if stretchBegan.isSet { stretchBegan = stretchBegan.advanced(byNanoseconds: pause) }
        case .connect: break
        case .send, .firstByte, .receive:
            stretchBegan = stretchBegan.advanced(byNanoseconds: pause)
            // Bytes may have moved during the pause; the idle timeout then starts again at its end.
            lastByte = lastByte < began ? lastByte.advanced(byNanoseconds: pause) : now
        }
    }

    private mutating func enter(_ next: Stretch, _ now: LoopInstant) {
        stretch = next
        stretchBegan = now
        lastByte = now
        if heldSince.isSet { heldSince = now }
    }

    // MARK: Deadlines

    /// The configured length of the timeout that an error code reports; `nil` if it is unlimited.
    func limit(_ code: CurlewError.Code) -> Duration? {
        let limit =
            switch code {
            case .queueTimedOut: queue
            case .connectTimedOut: connect
            case .firstByteTimedOut: firstByte
            case .idleTimedOut: idle
            default: total
            }
        return limit.map { .nanoseconds(Int64(clamping: $0)) }
    }

    /// The deadline that expires first, with the error code to report then.
    var next: (at: LoopInstant, code: CurlewError.Code) {
        let (whole, own) = (totalDeadline, stretchDeadline)
        if whole <= own, whole != .never { return (whole, .totalTimedOut) }
        switch stretch {
        case .queue: return (own, .queueTimedOut)
        case .connect: return (own, .connectTimedOut)
        case .firstByte: return (own, .firstByteTimedOut)
        case .send, .receive: return (own, .idleTimedOut)
        }
    }

    /// The deadline of `next`.
    var deadline: LoopInstant { min(totalDeadline, stretchDeadline) }

    private var totalDeadline: LoopInstant { Self.deadline(started, total) }

    private var stretchDeadline: LoopInstant {
        switch stretch {
        case .queue: heldSince.isSet ? .never : Self.deadline(stretchBegan, queue)
        case .connect: Self.deadline(stretchBegan, connect)
        case .firstByte: heldSince.isSet ? .never : Self.deadline(stretchBegan, firstByte)
        case .send, .receive: heldSince.isSet ? .never : Self.deadline(lastByte, idle)
        }
    }

    private static func deadline(_ from: LoopInstant, _ length: UInt64?) -> LoopInstant {
        guard let length, from.isSet else { return .never }
        return from.advanced(byNanoseconds: length)
    }
}
