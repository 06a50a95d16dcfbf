internal import CurlewCore
internal import Foundation

/// Collects one exchange for its request: head, body and progress. The kind of the request determines the delegate.
///
/// A delegate never calls the session, the engine or user code. It gives values to the request, which passes them to
/// users' queues. The transport's thread writes the mutable state and the run reads it, so it is protected by the
/// request's lock or the delegate's.
protocol TaskDelegate: TransferSink {
    var exchange: ExchangeContext { get }

    /// Called with the head of a response that is delivered, before its body.
    func begin(_ head: ResponseHead) -> Disposition
    /// Returns when the work is done for which `begin` paused the exchange. Called by the run.
    func untilReady() async
    /// Returns the outcome of the exchange, with or without an error. `nil` if a file has to be closed first. Called by
    /// the run.
    func collected(_ error: CurlewError?, _ ended: EndedExchange) -> CollectedBody?
    /// Closes the file, and returns the outcome of the exchange. Called by the run if `collected` returned `nil`.
    func closed(_ error: CurlewError?, _ ended: EndedExchange) async -> CollectedBody
}

/// The outcome of an exchange, as its delegate has collected it.
struct CollectedBody {
    /// The body, if it is not in the request's memory.
    var body: ReceivedBody?
    /// The error of the exchange, or of storing its body.
    var error: CurlewError?
    var verdict = Verdict.open
    /// A file that is moved to its destination when the response has been accepted.
    var file: (any UnsettledFile)?

    /// The decision about a head that was validated before the body.
    enum Verdict {
        case open
        case accepted
        /// `byTerminal`: only an awaiting method treats the response as an error.
        case rejected(CurlewError, byTerminal: Bool)
    }
}

/// A body on disk under a temporary name.
protocol UnsettledFile: Sendable {
    /// Moves the file to its destination, or removes it.
    func settle(accepted: Bool) async throws(CurlewError) -> ReceivedBody
}

extension TaskDelegate {
    /// The default for delegates without a file.
    func closed(_ error: CurlewError?, _ ended: EndedExchange) async -> CollectedBody {
        collected(error, ended) ?? CollectedBody(error: error)
    }
}
