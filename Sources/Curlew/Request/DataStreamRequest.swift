internal import CurlewCore
internal import Foundation
internal import FoundationNetworking

/// A request whose response body is consumed while it arrives.
///
///     for try await line in session.streamRequest(url).lines { print(line) }
///
/// The body has one reader, and a slow reader stops the sender. Leaving the loop, or cancelling its task,
/// cancels the request.
public final class DataStreamRequest: Request, @unchecked Sendable {
    // SAFETY: every stored property is a `let` of a Sendable type; what changes sits behind locks.

    /// What is turned into a `URLRequest` for every try.
    public let convertible: any URLRequestConvertible
    /// Whether a chunk that cannot be serialized cancels the request.
    public let automaticallyCancelOnStreamError: Bool

    init(
        _ convertible: any URLRequestConvertible,
        session: Session,
        options: RequestOptions,
        shouldAutomaticallyResume: Bool?,
        automaticallyCancelOnStreamError: Bool
    ) {
        self.convertible = convertible
        self.automaticallyCancelOnStreamError = automaticallyCancelOnStreamError
        super.init(session: session, options: options, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    override var purpose: TransferPurpose { .stream }

    override func makeURLRequest() throws -> URLRequest { try convertible.asURLRequest() }
}
