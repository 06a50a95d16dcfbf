package import Foundation

/// The interface between Curlew and the network. Two protocols refine it: ``PoolingTransport`` tells of connections and
/// opens them in advance, and `ConnectTransport` opens those of WebSockets. Nothing else bypasses it.
///
/// Decorators, such as a cache, a limit or a recorder, conform to it and wrap another transport; mocks conform to it as
/// well.
///
/// `perform` carries out a single exchange: it follows no redirect and retries nothing. It returns after the response
/// has ended and the last call to `sink` has returned. Cancelling the calling task cancels the exchange.
public protocol Transport: Sendable {
    /// Sends a request and passes the response to the sink. Returns when the exchange has ended.
    func perform(_ request: TransferRequest, sink: any TransferSink) async throws(CurlewError) -> TransferOutcome

    /// Ends running exchanges with `.sessionClosed` and closes every connection. Later exchanges fail with it as well.
    func shutdown() async

    /// Returns the guards that this transport enforces with the settings in `configuration`.
    ///
    /// A session calls it once, with its configuration. If a guard is set that its transport does not enforce, every
    /// request fails with `.unsupported`, because it would be sent unprotected. The default is no guard. A decorator
    /// returns the guards of the transport that it wraps, and a transport without a network returns `.all`.
    func enforcedGuards(of configuration: TransportConfiguration) -> TransportGuards
}

extension Transport {
    public func shutdown() async {}

    public func enforcedGuards(of configuration: TransportConfiguration) -> TransportGuards { [] }
}

/// The result of an exchange, apart from the body, which its sink received.
public struct TransferOutcome: Sendable {
    /// The head of the response.
    public var head: ResponseHead
    /// The trailer fields, which follow the body.
    public var trailers: HTTPHeaders
    /// The measurements of the exchange.
    public var metrics: TransferMetrics
    /// The heads with status 401 that the transport answered itself with the request's credentials.
    package var answeredChallenges: [ResponseHead] = []
    /// Whether the status is the server's verdict on the session's credentials: 401 means that it has refused them.
    /// False if middleware made or changed that status, or if an adapter or middleware set an `Authorization` field
    /// instead.
    package var statusEvaluatesCredentials = true

    /// Creates an outcome.
    public init(head: ResponseHead, trailers: HTTPHeaders = [:], metrics: TransferMetrics) {
        self.head = head
        self.trailers = trailers
        self.metrics = metrics
    }
}

/// Receives the events of one exchange.
///
/// Curlew's transport calls it in turns of its loop: on its thread or, at the start, on the caller's. Others call it on
/// any thread. Calls never overlap, and none follows the return of `perform`. A sink must not block, and may call the
/// transport only through its control.
public protocol TransferSink: AnyObject, Sendable {
    /// Called first. The control may be kept and used from any thread; after `perform` has returned it does nothing.
    func willStart(_ control: any TransferControl)
    /// Called for a 1xx response other than 101.
    func didReceive(informational head: ResponseHead)
    /// Called with the head of the response. After `.pause`, the body is held back until `resumeReceiving`.
    func didReceive(head: ResponseHead) -> Disposition
    /// Called with decoded bytes of the body, valid only during the call. After `.pause`, the same bytes are delivered
    /// again.
    func didReceive(body: UnsafeRawBufferPointer) -> Disposition
    /// Called with the number of body bytes sent so far. The count restarts if the body is sent again, for
    /// instance in an authentication round.
    func didSend(bodyBytes: Int64, of expected: Int64?)
}

extension TransferSink {
    public func willStart(_ control: any TransferControl) {}
    public func didReceive(informational head: ResponseHead) {}
    public func didReceive(head: ResponseHead) -> Disposition { .proceed }
    public func didSend(bodyBytes: Int64, of expected: Int64?) {}
}

/// The decision of a sink after a call.
public enum Disposition: Sendable {
    /// Continue.
    case proceed
    /// Deliver nothing more until `TransferControl.resumeReceiving()`.
    case pause
    /// End the exchange with this error.
    case abort(CurlewError)
}

/// Controls a running exchange on behalf of its sink's owner. A call returns at once: it enqueues a command,
/// or acts if it is made within `willStart`.
public protocol TransferControl: AnyObject, Sendable {
    /// Ends the pause that the sink's `.pause` began.
    func resumeReceiving()
    /// Pauses both directions, independently of the sink's pauses (`Request.suspend()`).
    func suspend()
    /// Ends the pause that `suspend` began.
    func resume()
    /// Ends the exchange with `error`. May be called more than once, on several threads: the first call counts.
    func cancel(with error: CurlewError)
}

/// A sink that can keep the body's data without copying it, if the sender has it as a value, such as a stored body.
package protocol KeepingSink: TransferSink {
    /// Whether the sink keeps the next bytes. Otherwise they are delivered in small pieces, at the sink's speed.
    var keepsData: Bool { get }
    /// Receives bytes as `didReceive(body:)` does, but they may be kept.
    func didReceive(data: Data) -> Disposition
}

/// The control of a transport that works in turns. One turn handles everything that its connections have received.
///
/// A sink need not wake its reader for every piece of a body, because all pieces of one turn are available at its end.
/// The sink registers for the end of the turn through its control, so that decorators in between need not forward it.
package protocol TurnControl: TransferControl {
    /// Notifies `observer` once, at the end of the current turn. Call it only within `didReceive(body:)`.
    func atEndOfTurn(tell observer: any TurnObserver)
}

/// Notified at the end of a turn, on the thread that has the turn. It must not block.
package protocol TurnObserver: AnyObject, Sendable {
    func turnEnded()
}

/// A response whose delivery is undecided: a redirect, a challenge that can be answered, or the response to the
/// validation of a stored one.
///
/// Its sink keeps it until the next step is known. Nothing else sees it before that: not the request, not its delegate,
/// not monitors.
package struct ProvisionalResponse: Sendable {
    package enum Reason: Sendable {
        case redirect, challenge, validation
    }

    package let head: ResponseHead
    private let reason: Reason
    package private(set) var body = Data()

    /// The maximum number of body bytes that are kept.
    package static let limit = 1024 * 1024

    package init(_ head: ResponseHead, _ reason: Reason) {
        self.head = head
        self.reason = reason
    }

    /// Stores body bytes. Throws if they exceed the limit: an endless body must not delay the next step forever.
    package mutating func keep(_ bytes: UnsafeRawBufferPointer) throws(CurlewError) {
        guard bytes.count <= Self.limit - body.count else { throw tooLarge }
        body.append(contentsOf: bytes)
    }

    private var tooLarge: CurlewError {
        let (name, phase): (String, CurlewError.Phase) =
            switch reason {
            case .redirect: ("a redirect", .redirect)
            case .challenge: ("a challenge", .receive)
            case .validation: ("the response to a validation", .receive)
            }
        return CurlewError(
            .limitExceeded, phase: phase, reason: "the body of \(name) is larger than \(Self.limit) bytes")
    }
}
