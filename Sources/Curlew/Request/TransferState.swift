internal import CurlewCore
internal import Foundation

/// The data of the last exchange. Its delegate writes it on the transport's thread, the run and users read it, all
/// under the request's lock.
struct TransferState: Sendable {
    var response: LazyResponse?
    var body: ReceivedBody = .none
    /// The received part of a body in memory, while it arrives.
    private(set) var incoming: Data?
    private var hasRoom = false
    /// The file that has taken bytes of the body, because the answer to the head has chosen it.
    var file: BodyFile?
    var acceptedHead: AcceptedHead?
    var upload = TransferCount()
    /// The number of received bytes of the body.
    private(set) var received: Int64 = 0
    /// The length of the body. `nil` means the length that the head names.
    private var total: Int64? = 0
    /// A response that another exchange may follow.
    var heldBack: HeldBackResponse?
    /// The user's decision about the head, which the body waits for.
    var headAnswer: HeadAnswer?
    /// Whether the delegate has ended the exchange.
    var wasAborted = false
    /// The number of body bytes that this exchange has sent.
    private var sent: Int64 = 0

    /// Removes the data of the former exchange: an exchange without a response must not be validated with an earlier
    /// one. Returns the former answer, which has to expire, and the former file. Both hold a user's closure, and are
    /// released without the lock.
    mutating func exchangeBegins() -> (HeadAnswer?, BodyFile?) {
        response = nil
        acceptedHead = nil
        heldBack = nil
        wasAborted = false
        sent = 0
        return (exchange(&headAnswer, with: nil), exchange(&file, with: nil))
    }

    /// The received bytes of the body, and its length.
    var download: TransferCount {
        get {
            let total = total ?? response.map { ExchangeContext.expectedLength(of: $0.head) } ?? 0
            return TransferCount(completed: received, total: total)
        }
        set { (received, total) = (newValue.completed, newValue.total) }
    }

    /// Records the head, before its body.
    mutating func headArrived(_ head: LazyResponse) {
        response = head
        (received, total) = (0, nil)
    }

    /// The decision about the next bytes of a body.
    enum Passage {
        /// They belong to the response that is delivered.
        case take
        /// The answer to the head has chosen this file for the body.
        case intoFile(BodyFile, at: Int64)
        /// They were stored with the response that is held back.
        case keptBack
        /// The redirect's body exceeds the limit for bodies that are kept.
        case tooMuchToKeepBack
        /// The user has not decided about the head: the transport has to deliver the bytes again.
        case wait
    }

    mutating func passage(of bytes: UnsafeRawBufferPointer) -> Passage {
        if let isKept = heldBack?.keep(bytes) { return isKept ? .keptBack : .tooMuchToKeepBack }
        guard let headAnswer else { return .take }
        switch headAnswer.decision {
        case .allow:
            self.headAnswer = nil
            return .take
        case .file(let chosen):
            file = chosen
            return .intoFile(chosen, at: received)
        case .cancel, nil: return .wait
        }
    }

    /// Stores bytes in memory, and counts them in the same step. Returns `false` if the body would exceed `limit`.
    /// `data` is the object that holds the bytes, if it may be stored itself.
    mutating func keep(_ bytes: UnsafeRawBufferPointer, of data: Data?, limit: Int) -> Bool {
        guard bytes.count <= Int64(limit) - received else { return false }
        if incoming == nil {
            // Most bodies arrive in one piece.
            incoming = data ?? Data(bytes)
        } else {
            if !hasRoom { makeRoom(limit: limit) }
            incoming?.append(contentsOf: bytes)
        }
        received += Int64(bytes.count)
        return true
    }

    private mutating func makeRoom(limit: Int) {
        // The length is only a promise, so the room is limited to 4 MiB.
        let room = min(download.total, Int64(limit), 4 << 20)
        if room > 0 { incoming?.reserveCapacity(Int(room)) }
        hasRoom = true
    }

    /// Ends a body that is kept in memory.
    mutating func endsBody() {
        if let data = exchange(&incoming, with: nil) { body = .data(data) }
        hasRoom = false
    }

    /// Counts sent bytes of the request's body. Returns how many are new, and the progress that users see. Returns
    /// `nil` if none is new, because a body that is sent again from its beginning first repeats known bytes.
    mutating func sent(_ count: TransferCount) -> (news: Int64, shown: TransferCount)? {
        guard count.completed > sent else { return nil }
        let news = count.completed - sent
        sent = count.completed
        // In another exchange too, the progress does not decrease.
        let before = min(upload.completed, count.total < 0 ? .max : count.total)
        upload = TransferCount(completed: max(count.completed, before), total: count.total)
        return (news, upload)
    }
}

/// A response that another exchange may follow. It is hidden from users until that is known.
struct HeldBackResponse: Sendable {
    let head: ResponseHead
    private(set) var body = Data()

    /// The maximum number of body bytes that are kept.
    static let limit = 1024 * 1024

    init(_ head: ResponseHead) { self.head = head }

    /// Stores body bytes. Returns `false` if they exceed the limit: an endless body must not delay the redirect
    /// forever.
    mutating func keep(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count <= Self.limit - body.count else { return false }
        body.append(contentsOf: bytes)
        return true
    }
}

/// The transferred and the total bytes in one direction. A total of -1 is unknown.
struct TransferCount: Sendable, Equatable {
    var completed: Int64 = 0
    var total: Int64 = 0

    /// The progress as a snapshot, which does not change later.
    var progress: Progress {
        let progress = Progress(totalUnitCount: total)
        progress.completedUnitCount = completed
        return progress
    }
}

/// The location of a received body.
enum ReceivedBody: Sendable {
    case none
    case data(Data)
    case file(URL)
    /// Delivered to a reader piece by piece.
    case streamed

    var data: Data? {
        switch self {
        case .data(let data): data
        case .none, .file, .streamed: nil
        }
    }

    var fileURL: URL? {
        switch self {
        case .file(let url): url
        case .none, .data, .streamed: nil
        }
    }
}
