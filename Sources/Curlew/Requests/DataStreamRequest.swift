internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

/// A request whose response body is consumed while it arrives.
///
///     for try await line in session.streamRequest(url).lines { print(line) }
///
/// The body has one reader: a sequence, or all handlers together. A slow reader slows down the sender. Leaving the
/// loop, or cancelling its task, cancels the request. The body of a response that is not accepted reaches no reader.
// SAFETY: every stored property is a `let` of a Sendable type; mutable state is protected by locks.
public final class DataStreamRequest: Request, @unchecked Sendable {
    /// The description of the request, converted to a `URLRequest` for every attempt.
    public let convertible: any URLRequestConvertible
    /// Whether a chunk that cannot be serialized cancels the request.
    public let automaticallyCancelOnStreamError: Bool

    let channel: BodyChannel
    let reading: Lock<Reading>
    /// The handle of the run, if it is not the user's.
    private let runsHandle: Lock<WeakHandle>

    private struct WeakHandle {
        weak var request: DataStreamRequest?
    }

    /// The readers of the body, and the calls that wait for the head.
    struct Reading {
        /// Whether a sequence or `head()` has claimed the body, which starts the run.
        var hasSequence = false
        /// Whether a sequence has begun to read the body.
        var hasReader = false
        /// The number of calls of `head()` that wait.
        var headsAwaited = 0
        /// Whether the run was started by `head()`.
        var isDrivenForHeads = false
        /// Whether the session is draining: the request ends when its head has arrived and the body has no reader.
        var endsUnread = false
        /// The handlers that read the body.
        var consumers: [StreamConsumer] = []
        /// The task that delivers chunks to the handlers.
        var pump: Task<Void, Never>?
        /// Whether the request announces that it expects an event stream.
        var wantsEvents = false
        /// Creates the successors of a reconnecting event stream, also after this request has ended.
        weak var session: Session?
        /// The successors of this request if its events reconnect. Created with the sequence.
        var succession: EventSuccession?

        /// Whether the session drains and the body has no reader, so that the request must not wait for one.
        var isLeftUnread: Bool { endsUnread && hasSequence && !hasReader && headsAwaited == 0 }

        /// Whether the last call of `head()` has ended, although the run was started for it, and the body has no
        /// reader.
        var isLeftByHeads: Bool { isDrivenForHeads && !hasReader && pump == nil && headsAwaited == 0 }
    }

    init(
        _ convertible: any URLRequestConvertible,
        session: Session,
        interceptor: __shared (any RequestInterceptor)?,
        shouldAutomaticallyResume: Bool?,
        automaticallyCancelOnStreamError: Bool,
        uploadable: (@Sendable () throws -> UploadRequest.Uploadable)? = nil
    ) {
        self.convertible = convertible
        self.automaticallyCancelOnStreamError = automaticallyCancelOnStreamError
        let reading = Lock(Reading())
        let runsHandle = Lock(WeakHandle())
        let users = Lock(WeakHandle())
        self.reading = reading
        self.runsHandle = runsHandle
        let channel = BodyChannel {
            (runsHandle.withLock { $0.request } ?? users.withLock { $0.request })?.cancel()
        }
        self.channel = channel
        let kind = RequestKind(
            source: .own { _ in try Self.describe(convertible, wantsEvents: reading.withLock { $0.wantsEvents }) },
            upload: uploadable.map { UploadTaskDelegate(make: $0) },
            purpose: .stream,
            makeDelegate: { StreamTaskDelegate(channel, checksStatus: $0.checksStatus) },
            reader: ChannelReader(channel: channel, reading: reading)
        )
        super.init(
            kind, session: session, interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
        users.withLock { $0.request = self }
        reading.withLock { $0.session = session }
    }

    private init(ofRun original: DataStreamRequest) {
        convertible = original.convertible
        automaticallyCancelOnStreamError = original.automaticallyCancelOnStreamError
        channel = original.channel
        reading = original.reading
        runsHandle = original.runsHandle
        super.init(ofRun: original)
    }

    deinit {
        // The run that `head()` started continues, but without the user's handle its body cannot be read.
        if !isHandleOfRun, reading.withLock({ $0.isLeftByHeads }) { channel.leave() }
    }

    /// Makes the handle for a run that must not keep the user's handle alive.
    func handleOfRun() -> DataStreamRequest {
        let made = DataStreamRequest(ofRun: self)
        runsHandle.withLock { $0.request = made }
        return made
    }

    private static func describe(
        _ convertible: any URLRequestConvertible,
        wantsEvents: Bool
    ) throws -> URLRequest {
        var request = try convertible.asURLRequest()
        guard wantsEvents else { return request }
        if request.value(forHTTPHeaderField: "Accept") == nil {
            request.setValue("text/event-stream", forHTTPHeaderField: "Accept")
        }
        if request.value(forHTTPHeaderField: "Cache-Control") == nil {
            request.setValue("no-store", forHTTPHeaderField: "Cache-Control")
        }
        return request
    }
}

/// The readers of a stream's body: a sequence, or all handlers together.
private struct ChannelReader: ResponseReader {
    let channel: BodyChannel
    let reading: Lock<DataStreamRequest.Reading>

    /// `false` once the reader of a sequence has bytes: it would get the beginning a second time. Handlers hear of each
    /// attempt.
    func allowsAnotherAttempt(of request: Request) -> Bool {
        guard reading.withLock({ $0.hasSequence }) else { return true }
        let exchange = request.record.withLock { $0.exchange }
        return exchange?.withLock { $0.acceptedHead == nil || $0.download.completed == 0 } ?? true
    }

    /// Cancels the successors of a reconnecting stream as well: the user has only the first request.
    func cancelled(with error: CurlewError) { reading.withLock { $0.succession }?.cancel(with: error) }

    func ended(with result: RunResult) { channel.finish(throwing: result.error) }

    func untilConsumed() async { await reading.withLock { $0.pump }?.value }
}
