internal import CurlewCore
internal import CurlewLocks
internal import Foundation
internal import FoundationNetworking

/// A request whose response body is consumed while it arrives.
///
///     for try await line in session.streamRequest(url).lines { print(line) }
///
/// The body has one reader: a sequence, or all handlers together. A slow reader stops the sender. Leaving the
/// loop, or cancelling its task, cancels the request. A response that is not accepted is not handed on.
public final class DataStreamRequest: Request, @unchecked Sendable {
    // SAFETY: every stored property is a `let` of a Sendable type; what changes sits behind locks.

    /// What is turned into a `URLRequest` for every try.
    public let convertible: any URLRequestConvertible
    /// Whether a chunk that cannot be serialized cancels the request.
    public let automaticallyCancelOnStreamError: Bool

    let channel: BodyChannel
    let consumers = Lock<[StreamConsumer]>([])

    init(
        _ convertible: any URLRequestConvertible,
        session: Session,
        options: RequestOptions,
        shouldAutomaticallyResume: Bool?,
        automaticallyCancelOnStreamError: Bool
    ) {
        self.convertible = convertible
        self.automaticallyCancelOnStreamError = automaticallyCancelOnStreamError
        let abandoned = Abandonment()
        channel = BodyChannel { abandoned.request.withLock { $0.request }?.cancel() }
        super.init(session: session, options: options, shouldAutomaticallyResume: shouldAutomaticallyResume)
        abandoned.request.withLock { $0.request = self }
    }

    /// Whom to tell that the reader has left: the channel is older than its request.
    private final class Abandonment: Sendable {
        struct Reference { weak var request: DataStreamRequest? }

        let request = Lock(Reference())
    }

    override var purpose: TransferPurpose { .stream }

    override func makeURLRequest() throws -> URLRequest { try convertible.asURLRequest() }

    override func makeDelegate(
        task: TaskIdentifier,
        url: URL,
        events: EventSink?,
        rules: RunRules
    ) -> TaskDelegate {
        StreamTaskDelegate(request: self, task: task, url: url, events: events, channel: channel, rules: rules)
    }

    override func resultArrived(_ result: RunResult) { channel.finish(throwing: result.error) }

    override func untilBodyIsTaken() async { await record.withLock { $0.pump }?.value }

    /// Most bytes of a line or an event.
    var pieceLimit: Int { record.withLock { $0.options.maximumBodySize } ?? context.configuration.maximumBodySize }
}
