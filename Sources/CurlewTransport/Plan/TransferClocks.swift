internal import CurlewCore

/// The five clocks of a transfer: which run at a moment, and when the first of them runs out.
///
/// A value without a clock of its own: time is passed in.
struct TransferClocks {
    enum Stretch {
        /// Waiting for a connection that is free or may be made.
        case queue
        case connect
        case send
        /// The request is out, nothing has come back.
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

    /// The one limit that differs between requests that are otherwise alike.
    func limited(total: Duration?) -> TransferClocks {
        var limited = self
        limited.total = total?.clampedNanoseconds
        return limited
    }

    // MARK: What happened

    mutating func transferStarted(at now: LoopInstant) { started = now }

    /// May have to wait for a connection, in line or within libcurl; once, until it starts over.
    mutating func queued(at now: LoopInstant) {
        if !stretchBegan.isSet { stretchBegan = now }
    }

    /// The first resolver, socket or prerequest callback: a connection is being made or was found.
    mutating func connectionStarted(at now: LoopInstant) {
        if case .queue = stretch { enter(.connect, now) }
    }

    /// Nothing was sent; there is no connection any more. What held the transfer may be gone with it.
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

    /// The whole response is here while the body is still going out: a server that takes no more of it
    /// will not (HTTP/2 without a window), so the patience is short.
    mutating func responseCompleted() { idle = min(idle ?? .max, Self.patience) }

    private static let patience: UInt64 = 1_000_000_000

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
            // Bytes may have moved while it was held.
            lastByte = lastByte < began ? lastByte.advanced(byNanoseconds: pause) : now
        }
    }

    private mutating func enter(_ next: Stretch, _ now: LoopInstant) {
        stretch = next
        stretchBegan = now
        lastByte = now
        if heldSince.isSet { heldSince = now }
    }

    // MARK: Questions

    /// The time that a clock allows.
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

    /// When the first running clock runs out, and which it is.
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

    /// The time alone.
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
