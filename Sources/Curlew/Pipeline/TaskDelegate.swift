internal import CurlewCore
internal import CurlewLocks
internal import Foundation

/// Collects the body of one response. Its exchange chooses it when the head of the response is known: memory, a file, a
/// stream.
///
/// The exchange passes itself to every call, so a delegate has no reference to it. The transport's thread writes its
/// state and the run reads it, so it is protected by the delegate's own lock. A delegate calls no user code on the
/// transport's thread, unless the transport has no control and so cannot be paused.
protocol TaskDelegate: Sendable {
    /// Called with the head of the response, before its body. After `.pause`, the delegate resumes the exchange.
    func begin(_ response: LazyResponse, in exchange: Exchange) -> Disposition
    /// Called with the next bytes of the body. `data` is the object that holds them, if it may be stored.
    func receive(_ bytes: UnsafeRawBufferPointer, of data: Data?, in exchange: Exchange) -> Disposition
    /// Whether the delegate stores the `data` of `receive` instead of a copy.
    var keepsData: Bool { get }
    /// Waits for the work for which `begin` or `receive` has paused the exchange. Called by the run.
    func untilReady() async
    /// Ends the body, with or without an error of the exchange. Called by the run, once.
    func close(_ error: CurlewError?, of exchange: Exchange) async -> CollectedBody
}

extension TaskDelegate {
    func begin(_ response: LazyResponse, in exchange: Exchange) -> Disposition { .proceed }
    var keepsData: Bool { false }
    func untilReady() async {}
}

/// A response's body, as its delegate has collected it.
struct CollectedBody {
    var body = ReceivedBody.none
    /// The error of the exchange, or of storing its body.
    var error: CurlewError?
    var verdict = Verdict.open
    /// A file that is moved to its destination when the response has been accepted.
    var file: (any UnplacedFile)?
    /// The response is of no use for the file: repeat at once, asking for the whole file. Retriers are not asked, and
    /// `error` is then only that of the exchange.
    var startsOver = false

    /// The decision about a head that was validated before the body.
    enum Verdict: Sendable {
        case open
        case accepted
        /// `isStatusCheckOnly`: only an awaiting method treats the response as an error.
        case rejected(CurlewError, isStatusCheckOnly: Bool)
    }
}

/// A body on disk under a temporary name.
protocol UnplacedFile: Sendable {
    /// Moves the file to its destination, or removes it.
    func place(ifAccepted isAccepted: Bool) async throws(CurlewError) -> ReceivedBody
}

/// Keeps a response's body in memory, up to a limit.
struct DataTaskDelegate: TaskDelegate {
    /// The maximum number of bytes.
    let limit: Int
    private let state = Lock(State())

    private struct State {
        var bytes: Data?
        var hasRoom = false
    }

    /// The part of the body that has arrived. `nil` if there is none.
    var bytes: Data? { state.withLock { $0.bytes } }

    var keepsData: Bool { true }

    func receive(_ bytes: UnsafeRawBufferPointer, of data: Data?, in exchange: Exchange) -> Disposition {
        let isKept = state.withLock { state in
            guard bytes.count <= limit - (state.bytes?.count ?? 0) else { return false }
            guard state.bytes != nil else {
                // Most bodies arrive in one piece.
                state.bytes = data ?? Data(bytes)
                return true
            }
            if !state.hasRoom {
                // The length is only a promise, so the room is limited to 4 MiB.
                let room = min(exchange.lengthOfBody, Int64(limit), 4 << 20)
                if room > 0 { state.bytes?.reserveCapacity(Int(room)) }
                state.hasRoom = true
            }
            state.bytes?.append(contentsOf: bytes)
            return true
        }
        guard isKept else { return .abort(.bodyTooLarge(limit)) }
        exchange.received(bytes)
        return .proceed
    }

    func close(_ error: CurlewError?, of exchange: Exchange) async -> CollectedBody {
        CollectedBody(body: bytes.map { .data($0) } ?? .none, error: error)
    }
}
