internal import CurlewCore
internal import Foundation

/// Collects one exchange for its request: head, body, progress. Each exchange has its own, of its request's kind.
///
/// It never calls the session, the engine or user code; where users want to be told, it hands values to the request, which
/// passes them on to queues. What changes lies behind a lock, the request's or a delegate's own: the transport's thread
/// writes it, the run reads it.
protocol TaskDelegate: TransferSink {
    var exchange: ExchangeContext { get }

    /// The answer's head has come; its body follows.
    func begin(_ head: ResponseHead) -> Disposition
    /// Returns when what `begin` paused for is there. On the run.
    func untilReady() async
    /// What the exchange has brought, with or without an error; nil where a file has to be closed first. On the run.
    func collected(_ error: CurlewError?, _ ended: EndedExchange) -> CollectedBody?
    /// The same, once that is done. On the run.
    func closed(_ error: CurlewError?, _ ended: EndedExchange) async -> CollectedBody
}

/// What a delegate has at the end of its exchange.
struct CollectedBody {
    /// Where the body is, if not in the request's memory.
    var body: ReceivedBody?
    /// The exchange's, or why its body could not be kept.
    var error: CurlewError?
    var verdict = Verdict.open
    /// A body that goes to its place when the response was judged.
    var file: (any UnsettledFile)?

    /// What was found about the head where that was judged before the body.
    enum Verdict {
        case open
        case accepted
        /// `byTerminal`: only the driver's terminal finds it an error.
        case rejected(CurlewError, byTerminal: Bool)
    }
}

/// A body on disk under a temporary name.
protocol UnsettledFile: Sendable {
    /// Moves it to its place, or removes it.
    func settle(accepted: Bool) async throws(CurlewError) -> ReceivedBody
}

extension TaskDelegate {
    /// Most have no file.
    func closed(_ error: CurlewError?, _ ended: EndedExchange) async -> CollectedBody {
        collected(error, ended) ?? CollectedBody(error: error)
    }
}
