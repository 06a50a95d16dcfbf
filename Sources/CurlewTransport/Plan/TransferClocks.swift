internal import CurlewCore

/// The five timeouts of a transfer: which of them run, and when the first of them expires.
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

    enum Timeout {
        case queue, connect, firstByte, idle, total

        /// The code of the error that reports it.
        var code: CurlewError.Code {
            switch self {
            case .queue: .queueTimedOut
            case .connect: .connectTimedOut
            case .firstByte: .firstByteTimedOut
            case .idle: .idleTimedOut
            case .total: .totalTimedOut
            }
        }
    }

    private let queue: UInt64?
    private let connect: UInt64?
    private let firstByte: UInt64?
    private var idle: UInt64?
    /// The only timeout that differs between requests of one kind.
    var total: UInt64?

    private(set) var stretch = Stretch.queue
    /// When the transfer started: the total timeout runs from then on.
    var started = LoopInstant.unset
    private var stretchBegan = LoopInstant.unset
    private var lastByte = LoopInstant.unset
    private var pausedSince = LoopInstant.unset
    /// The part of the connect timeout that the user's resolver has used up, in nanoseconds.
    private var resolving: UInt64 = 0

    init(_ timeouts: Timeouts) {
        queue = timeouts.queue?.clampedNanoseconds
        connect = timeouts.connect?.clampedNanoseconds
        firstByte = timeouts.firstByte?.clampedNanoseconds
        idle = timeouts.idle?.clampedNanoseconds
        total = timeouts.total?.clampedNanoseconds
    }

    // MARK: Events

    /// Called when the transfer may have to wait for a connection, in a queue or within libcurl. The wait begins with
    /// the first call, and again with the first after `reset`.
    mutating func enqueued(at now: LoopInstant) {
        guard !stretchBegan.isSet else { return }
        stretchBegan = now
        if pausedSince.isSet { pausedSince = now }
    }

    /// Called for the first resolver or socket callback: libcurl makes a connection.
    mutating func connectionStarted(at now: LoopInstant) {
        if case .queue = stretch { enter(.connect, now) }
    }

    /// Called when the transfer begins to wait for the user's resolver.
    mutating func resolvingStarted(at now: LoopInstant) { enter(.connect, now) }

    /// Called when the resolver has answered. The transfer then waits for a connection, with the rest of the connect
    /// timeout.
    mutating func resolvingEnded(at now: LoopInstant) {
        resolving += now.nanoseconds(since: stretchBegan)
        stretch = .queue
        stretchBegan = .unset
    }

    /// Called when the transfer has left its handle or its queue, and will be enqueued again. Only the total timeout
    /// continues. Pass `isPaused: false` if the pause ended with the connection.
    mutating func reset(isPaused: Bool) {
        stretch = .queue
        stretchBegan = .unset
        resolving = 0
        if !isPaused { pausedSince = .unset }
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

    /// Called when a connection that was made in advance is up. The transfer ends after `length`.
    mutating func settlingStarted(for length: UInt64, at now: LoopInstant) {
        idle = length
        enter(.receive, now)
    }

    mutating func paused(at now: LoopInstant) {
        if !pausedSince.isSet { pausedSince = now }
    }

    mutating func resumed(at now: LoopInstant) {
        guard pausedSince.isSet else { return }
        let began = pausedSince
        let pause = now.nanoseconds(since: began)
        pausedSince = .unset
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
        if pausedSince.isSet { pausedSince = now }
    }

    // MARK: Deadlines

    /// The configured length of a timeout; `nil` if it is unlimited.
    func limit(_ timeout: Timeout) -> Duration? {
        let limit =
            switch timeout {
            case .queue: queue
            case .connect: connect
            case .firstByte: firstByte
            case .idle: idle
            case .total: total
            }
        return limit.map { .nanoseconds(Int64(clamping: $0)) }
    }

    /// The timeout that expires first, and when.
    var next: (at: LoopInstant, timeout: Timeout) {
        let isPaused = pausedSince.isSet
        let whole = Self.deadline(started, total)
        let own: (at: LoopInstant, timeout: Timeout) =
            switch stretch {
            case .queue: (isPaused ? .never : Self.deadline(stretchBegan, queue), .queue)
            case .connect: (Self.deadline(stretchBegan, connect.map { $0 - min(resolving, $0) }), .connect)
            case .firstByte: (isPaused ? .never : Self.deadline(stretchBegan, firstByte), .firstByte)
            case .send, .receive: (isPaused ? .never : Self.deadline(lastByte, idle), .idle)
            }
        return whole <= own.at && whole != .never ? (whole, .total) : own
    }

    private static func deadline(_ from: LoopInstant, _ length: UInt64?) -> LoopInstant {
        guard let length, from.isSet else { return .never }
        return from.advanced(byNanoseconds: length)
    }
}
